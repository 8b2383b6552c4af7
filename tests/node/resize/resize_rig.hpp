#pragma once

#include "node/container/cdi_spec.hpp"
#include "node/resize/resizer.hpp"
#include "tests/node/audit/memory_rig.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node {

/// A resizer with a journal on disk, over a card GPU-1 of 80 GiB, with a library and a driver that
/// limit memory.
struct ResizeRig {
  ResizeRig() {
    Inventory inventory;
    InstalledCard card;
    card.card = testing::card("GPU-1");
    inventory.cards.push_back(card);
    cards = std::make_shared<const CardsNow>(CardsNow{std::move(inventory), true});
    boot();
  }

  /// Another agent, with what the former one has written.
  void boot() {
    if (resizer) published = resizer->state().value_or(PodResizes{}).answers;
    resizer.reset();
    journal.reset();
    auto opened = Journal::open(folder.path() + "/allocations");
    if (!opened) throw std::runtime_error(opened.error().message);
    journal = std::make_unique<Journal>(std::move(*opened));
    resizer = std::make_unique<Resizer>(
        Resizer::Parts{.pods = pods,
                       .journal = *journal,
                       .limiters = limiters,
                       .source = source,
                       .processes = processes,
                       .runtime = &runtime,
                       .cards = [this] { return cards; },
                       .check = check,
                       .previous = published,
                       .changed = [this] { ++changes; },
                       .report_event =
                           [this](const kube::EventNote& note) {
                             events.push_back(note.reason + " " + note.name + " " + note.note);
                           },
                       .boot = boot_id,
                       .clock = clock});
    resizer->restore();
  }

  static model::Grant grant(const std::string& name, int revision,
                            const std::vector<model::GrantedCard>& cards_of_main,
                            model::Isolation mode = model::Isolation::kTimeSlice) {
    model::Grant grant;
    grant.pod_uid = "uid-" + name;
    grant.node = "n1";
    grant.issued_at = "2026-01-01T00:00:00Z";
    grant.revision = revision;
    grant.isolation = mode;
    grant.containers = {{"main", cards_of_main}};
    return grant;
  }
  /// The pod's annotation is this from now on.
  void annotate(const std::string& name, const model::Grant& grant,
                const model::Signer& signer = {}) {
    LocalPod pod;
    pod.pod.uid = "uid-" + name;
    pod.pod.ns = "ml";
    pod.pod.name = name;
    pod.pod.node = "n1";
    for (const model::ContainerGrant& container : grant.containers) {
      pod.pod.containers.push_back({.name = container.container, .slots = 1});
    }
    pod.grant_text = encode_signed(grant, signer);
    pod.requests = requests;
    read_pod_grant(pod, "n1", reads);
    pods.put(std::move(pod));
  }
  /// The container has started with this grant, and its memory is limited by a means. Again, if it
  /// was started before.
  void start(const std::string& name, const model::Grant& grant,
             const std::string& means = "library", const std::string& container = "main",
             const model::Signer& signer = {}) {
    JournalEntry entry{
        .name = name + "." + container, .slots = {}, .allocated_at = "", .claim = {}};
    entry.claim = Claim{.pod_uid = "uid-" + name,
                        .ns = "ml",
                        .pod = name,
                        .container = container,
                        .grant = encode_signed(grant, signer),
                        .spec = "",
                        .marked_at = ++starts,
                        .boot = boot_id};
    const ContainerEdits edits{
        .env = {"TANGRAM_CARD_UUIDS=GPU-1", "TANGRAM_MEMORY_LIMITS=" + means}, .mounts = {}};
    entry.claim->spec = encode_cdi_spec(entry.name, edits, {});
    if (!journal->put(entry)) throw std::runtime_error("no journal");
    if (const auto known = model::parse_memory_limits(means); known && by(*known) != nullptr) {
      by(*known)->limits[entry.name + " GPU-1"] = limit_in_journal(entry.name);
    }
  }
  /// A pod that runs by this grant.
  void run(const std::string& name, const model::Grant& grant, const std::string& means = "library",
           const model::Signer& signer = {}) {
    annotate(name, grant, signer);
    start(name, grant, means, "main", signer);
  }
  /// A process of the container "main" has so much of GPU-1, by the driver's count.
  void use(const std::string& name, std::uint64_t mib) {
    processes.by_pid[1] = "uid-" + name;
    processes.container_ids[1] = "id-" + name;
    runtime.containers["id-" + name] = {"uid-" + name, "main"};
    source.processes["GPU-1"][1] = mib;
  }

  /// A second passes, and the agent looks.
  void look() {
    clock.advance(std::chrono::seconds(1));
    resizer->look();
  }
  void look_twice() {
    look();
    look();
  }

  /// Without what it is held to.
  [[nodiscard]] model::ResizeAnswer answer(const std::string& name) const {
    model::ResizeAnswer answer = whole_answer(name);
    answer.held.clear();
    return answer;
  }
  [[nodiscard]] model::ResizeAnswer whole_answer(const std::string& name) const {
    const auto now = resizer->state();
    const auto found =
        now ? now->answers.find("uid-" + name) : model::ResizeAnswers::const_iterator{};
    return now && found != now->answers.end() ? found->second : model::ResizeAnswer{-1, 0, {}};
  }
  [[nodiscard]] std::int64_t limit_in_journal(const std::string& allocation) const {
    return card_in_journal(allocation).memory_limit.count();
  }
  [[nodiscard]] model::GrantedCard card_in_journal(const std::string& allocation) const {
    const auto grant = model::decode_grant(journal->find(allocation)->claim->grant);
    for (const auto& container : grant->containers) {
      if (allocation.ends_with("." + container.container)) return container.cards.at(0);
    }
    throw std::runtime_error("no such container");
  }
  /// What the running container is held to, in MiB.
  std::int64_t limit(const std::string& allocation) {
    const std::string name = allocation + " GPU-1";
    return (driver().limits.contains(name) ? driver() : library()).limits.at(name);
  }
  FakeLimiter& library() { return *by(model::MemoryLimits::kLibrary); }
  FakeLimiter& driver() { return *by(model::MemoryLimits::kDriver); }
  /// Null for a means without a limiter.
  FakeLimiter* by(model::MemoryLimits means) {
    (void)limiters.in_use("", means, "");  // makes it
    return made.at(static_cast<std::size_t>(means));
  }

  testing::TempFolder folder;
  testing::ManualClock clock;
  FakePods pods;
  FakeCards source;
  FakeProcesses processes;
  FakeNames runtime;
  CardsPtr cards;
  model::SignatureCheck check;     ///< whose signature a text carries; of a resizer that boots
  model::SignatureCheck reads;     ///< of the pods' grants
  CardRequests requests;           ///< of pods
  std::string boot_id = "boot-1";  ///< the machine's
  std::int64_t starts = 0;         ///< of containers
  /// By means, once they are made; owned by the next.
  std::array<FakeLimiter*, model::kAllMemoryLimits.size()> made{};
  MemoryLimiters limiters{[this](model::MemoryLimits means) -> MemoryLimiters::Made {
    if (means < model::MemoryLimits::kLibrary) return std::unique_ptr<MemoryLimiter>();
    auto limiter = std::make_unique<FakeLimiter>();
    made.at(static_cast<std::size_t>(means)) = limiter.get();
    return limiter;
  }};
  std::vector<std::string> events;
  int changes = 0;
  model::ResizeAnswers published;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Resizer> resizer;
};

inline constexpr auto kInUse = model::ResizeRefusal::kInUse;
inline constexpr auto kNoRoom = model::ResizeRefusal::kNoRoom;
inline constexpr auto kCannotChange = model::ResizeRefusal::kCannotChange;
inline constexpr auto kOtherGrant = model::ResizeRefusal::kOtherGrant;

/// A share of GPU-1, recorded as one.
inline model::GrantedCard share(std::int64_t mib, std::int64_t milli) {
  model::GrantedCard card = part("GPU-1", mib, milli);
  card.whole = false;
  return card;
}

}  // namespace tangram::node
