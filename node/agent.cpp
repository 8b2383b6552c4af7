#include "node/agent.hpp"

#include "base/environment.hpp"
#include "base/file.hpp"
#include "base/quote.hpp"
#include "kube/grant_keys.hpp"
#include "kube/reflector.hpp"
#include "model/request.hpp"
#include "node/audit/auditor.hpp"
#include "node/cards/card_watcher.hpp"
#include "node/cards/file_source.hpp"
#include "node/container/processes.hpp"
#include "node/container/starter.hpp"
#include "node/isolation/offered_modes.hpp"
#include "node/isolation/plain_enforcers.hpp"
#include "node/kubelet/registrar.hpp"
#include "node/metrics.hpp"
#include "node/name_path.hpp"
#include "node/publish/node_publisher.hpp"
#include "node/vendor/nvidia/cdi.hpp"
#include "node/vendor/nvidia/mps_enforcer.hpp"
#include "node/vendor/nvidia/nvml_source.hpp"

#include <prometheus/exposer.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

namespace tangram::node {
namespace {

constexpr std::chrono::milliseconds kReadNodeLimit{10'000};
constexpr std::chrono::milliseconds kEnforceEvery{5'000};

constexpr std::string_view kFile = "file:";

bool reads_file(const Settings& settings) { return settings.cards.starts_with(kFile); }

std::unique_ptr<CardSource> open_cards(const Settings& settings) {
  const bool from_file = reads_file(settings);
  std::unique_ptr<CardSource> source;
  if (from_file) {
    source = std::make_unique<FileSource>(settings.cards.substr(kFile.size()));
  } else {
    source = std::make_unique<NvmlSource>(settings.nvml_library);
  }
  return std::make_unique<OfferedModes>(std::move(source), [from_file] {
    return find_means(!from_file, process_environment("PATH"));
  });
}

/// GET /metrics may be open to the whole network, and a connection takes a thread of its own: so
/// there are some, and one that says nothing is sent away before the next scrape. What waits for a
/// thread (20), and the head of a request (16 KiB), are bounded by the library. Readings are taken
/// one at a time whatever asks.
std::vector<std::string> listener(const std::string& address) {
  return {"listening_ports", address, "num_threads", "4", "request_timeout_ms", "5000"};
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

MpsSettings mps_settings(const Settings& settings) {
  MpsSettings mps;
  mps.run_dir = settings.run_dir;
  mps.launcher = words(settings.mps_launcher);
  mps.multiuser = settings.mps_multiuser;
  return mps;
}

RecordSettings record_settings(const Settings& settings) {
  RecordSettings record;
  record.aggregates = settings.aggregates;
  if (!settings.own_cards.empty()) record.own_cards = parse_card_names(settings.own_cards);
  return record;
}

/// Slots for every card, and never fewer than kubelet has given out: a slot that is not there any
/// more kills its pod when kubelet restarts.
int slot_count(const Inventory& inventory, int sharers_per_card, const std::string& checkpoint) {
  int count = 0;
  for (const InstalledCard& card : inventory.cards) {
    count += std::min(sharers_per_card, card.card.max_sharers);
  }
  const auto owners = decode_checkpoint(checkpoint, model::kSlotResource);
  if (!owners) return count;
  for (const SlotOwner& owner : *owners) {
    for (const std::string& slot : owner.slots) {
      if (const auto number = slot_number(slot)) count = std::max(count, *number + 1);
    }
  }
  return count;
}

const model::Card* card_of(const CardsNow& cards, std::string_view id) {
  for (const InstalledCard& card : cards.inventory.cards) {
    if (card.card.id == id) return &card.card;
  }
  return nullptr;
}

/// What an earlier agent chose.
Result<NamePath> remembered_name_path(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return text.error();
  if (const auto path = parse_name_path(*text)) return *path;
  return fail(Errc::kInvalidArgument, file + " holds " + quote(*text));
}

/// As set, or as the node's software allows; while the API server cannot say, as it was: a wrong
/// guess would let containers start without their cards.
Result<NamePath> find_name_path(const Settings& settings, kube::KubeApi& api, bool reachable) {
  if (settings.name_path) return *settings.name_path;
  const std::string memory = settings.state_dir + "/device-ids-by";
  auto before = remembered_name_path(memory);
  if (!reachable && before) return before;
  const auto software = read_node_software(api, settings.node);
  if (!software) {
    if (before) return before;
    return software.error();
  }
  auto chosen = choose_name_path(*software, has_nvidia_specs(settings.nvidia_cdi_dirs));
  if (!chosen) return chosen;
  if (auto kept = replace_file(memory, to_string(*chosen)); !kept) {
    spdlog::warn("{}", kept.error().message);
  }
  return chosen;
}

using GrantKeysPtr = std::unique_ptr<kube::GrantKeys>;

/// Broken files must not keep running pods' containers from starting again.
GrantKeysPtr open_grant_keys(const Settings& settings) {
  if (settings.grant_keys.empty()) return nullptr;
  return kube::GrantKeys::open_when_usable({.known = settings.grant_keys});
}

}  // namespace

struct Agent::Impl {
  Impl(Settings given, Parts outside, Journal opened, GrantKeysPtr keys, NamePath path,
       std::vector<model::Card> previous)
      : settings(std::move(given)),
        parts(std::move(outside)),
        journal(std::move(opened)),
        grant_keys(std::move(keys)),
        events(parts.api, parts.reporter, parts.clock),
        source(open_cards(settings)),
        watcher(*source, watcher_options(settings, std::move(previous)), parts.clock,
                [this] { cards_changed(); }),
        pods(
            parts.api, settings.node, [this] { pods_changed(); }, grant_check()),
        pod_reflector(parts.api, LocalPods::to_watch(settings.node), pods, parts.clock),
        mps(*source, programs, parts.clock, mps_settings(settings)),
        time_slice(*source, programs, parts.clock, static_cast<TimeSlice>(settings.time_slice)),
        lister(settings.kubelet_dir + "/pod-resources/kubelet.sock",
               std::string(model::kSlotResource)),
        cdi(settings.cdi_dir),
        starter(starter_parts(), {.node = settings.node,
                                  .name_path = path,
                                  .nvidia_cdi_folders = settings.nvidia_cdi_dirs}),
        plugin(starter),
        registrar({.folder = settings.plugin_dir}, std::string(model::kSlotResource), plugin),
        auditor(auditor_parts()),
        publisher({.node = settings.node, .record = record_settings(settings)},
                  {.api = parts.api,
                   .clock = parts.clock,
                   .cards = [this] { return told_cards(); },
                   .requested = [this] { return pods.requested(); },
                   .tell = teller()}),
        metrics(std::make_shared<NodeMetrics>([this] { return readings(); })),
        exposer(listener(settings.listen)) {
    exposer.RegisterCollectable(metrics);
  }

  void start() {
    if (const auto restored = auditor.restore(); restored > 0) {
      spdlog::info("put back {} CDI specs of running pods", restored);
    }
    update_slots();
    run([this](const std::stop_token& stop) { pod_reflector.run(stop); });
    run([this](const std::stop_token& stop) { watcher.run(stop); });
    run([this](const std::stop_token& stop) { registrar.run(stop); });
    run([this](const std::stop_token& stop) { enforce(stop); });
    run([this](const std::stop_token& stop) { audit(stop); });
    publisher.start();
  }

  void stop() {
    publisher.stop();
    for (std::jthread& thread : threads) thread.request_stop();
    threads.clear();
  }

  void run(std::function<void(const std::stop_token&)> work) {
    threads.emplace_back([work = std::move(work)](const std::stop_token& stop) { work(stop); });
  }

  static CardWatcherOptions watcher_options(const Settings& settings,
                                            std::vector<model::Card> previous) {
    CardWatcherOptions options;
    // Looking whether a file has changed costs next to nothing.
    constexpr std::chrono::milliseconds kLookAtFile{1'000};
    if (reads_file(settings)) options.poll = options.wait = kLookAtFile;
    options.previous = std::move(previous);
    return options;
  }

  std::function<void(kube::EventNote)> teller() {
    return [this](kube::EventNote note) { events.record(std::move(note)); };
  }

  [[nodiscard]] Result<std::string> checkpoint() const {
    return read_file(settings.plugin_dir + "/" + std::string(kCheckpointFile));
  }

  Enforcer& enforcer(model::Isolation mode) {
    switch (mode) {
      case model::Isolation::kMps:
        return mps;
      case model::Isolation::kTimeSlice:
        return time_slice;
      case model::Isolation::kNone:
        break;
    }
    return none;
  }

  ContainerStarter::Parts starter_parts() {
    return {.checkpoint = [this] { return checkpoint(); },
            .lister = lister,
            .pods = pods,
            .source = *source,
            .cards = [this] { return watcher.now(); },
            .processes = processes,
            .enforcer = [this](model::Isolation mode) -> Enforcer& { return enforcer(mode); },
            .journal = journal,
            .cdi = cdi,
            .tell = teller(),
            .random = parts.random,
            .clock = parts.clock};
  }

  Auditor::Parts auditor_parts() {
    return {.node = settings.node,
            .own_pod = processes.pod_of(getpid()),
            .checkpoint = [this] { return checkpoint(); },
            .lister = lister,
            .pods = pods,
            .source = *source,
            .cards = [this] { return watcher.now(); },
            .processes = processes,
            .journal = journal,
            .cdi = cdi,
            .tell = teller()};
  }

  /// Nothing until something is known: what was published before an agent's restart stands until
  /// the source has answered, or has said that it cannot.
  CardsPtr told_cards() {
    const CardsPtr cards = watcher.now();
    const bool known = cards->answers || !cards->inventory.cards.empty();
    return asked && known ? cards : nullptr;
  }

  void cards_changed() {
    asked = true;
    update_slots();
    publisher.changed();
  }

  void pods_changed() { publisher.changed(); }

  /// By whom the grants of pods must be signed. What a container was admitted with stays good,
  /// whatever has become of its key: it runs.
  model::SignatureCheck grant_check() {
    if (!grant_keys) return {};
    auto judge = kube::signature_check(*grant_keys, settings.require_signed_grants);
    return [this, judge = std::move(judge)](std::string_view text) {
      auto verdict = judge(text);
      if (!verdict.problem.empty() && journal.has_admitted(text)) verdict.problem.clear();
      return verdict;
    };
  }

  /// With other keys pods that could not start may, and the other way round.
  void look_at_grant_keys() {
    if (grant_keys && grant_keys->look()) pod_reflector.relist();
  }

  /// A lost card stays published as long as somebody holds it.
  void forget_lost_cards() {
    if (!pods.synced()) return;
    std::set<std::string> granted;
    for (const LocalPodPtr& pod : pods.all()) {
      if (!pod->grant) continue;
      for (const auto& container : pod->grant->containers) {
        for (const auto& part : container.cards) granted.insert(part.uuid);
      }
    }
    watcher.forget_lost(granted);
  }

  /// Never fewer than before: a slot may be given out between the look and the word to kubelet.
  void update_slots() {
    const auto text = checkpoint();
    const int count =
        slot_count(watcher.now()->inventory, settings.sharers_per_card, text ? *text : "");
    slots = std::max<int>(slots, count);
    plugin.set_slots(slots);
  }

  /// Cards that containers share, by mode: of those that were admitted, for a grant alone is
  /// anybody's word.
  [[nodiscard]] std::array<std::set<std::string>, model::kIsolationModes> shared_cards() const {
    std::array<std::set<std::string>, model::kIsolationModes> shared;
    for (const CardClaim& claim : starter.claims()) {
      if (!claim.admitted || claim.whole) continue;
      for (const auto& part : claim.container.cards) {
        shared.at(static_cast<std::size_t>(claim.isolation)).insert(part.uuid);
      }
    }
    return shared;
  }

  void enforce(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto shared = shared_cards();
      for (const model::Isolation mode : model::kAllIsolationModes) {
        enforcer(mode).keep(shared.at(static_cast<std::size_t>(mode)));
        enforcer(mode).look_after();
      }
      forget_lost_cards();
      look_at_grant_keys();
      sleep_until_stopped(kEnforceEvery, stop);
    }
  }

  void audit(const std::stop_token& stop) {
    // The first two soon: the runtime reads all specs that an earlier agent has left, at every
    // change.
    constexpr std::chrono::seconds kSoon{5};
    for (int looks = 0; !stop.stop_requested(); ++looks) {
      const auto pause =
          looks < 2 ? std::min(kSoon, settings.audit_interval) : settings.audit_interval;
      sleep_until_stopped(pause, stop);
      if (stop.stop_requested()) return;
      if (const auto looked = auditor.look(); !looked) {
        spdlog::warn("no audit: {}", looked.error().message);
      }
    }
  }

  Readings readings() {
    Readings now;
    const CardsPtr cards = watcher.now();
    for (const InstalledCard& card : cards->inventory.cards) {
      auto activity = source->activity(card.card.id);
      now.cards.push_back(
          {card.card, activity ? std::optional(std::move(*activity)) : std::nullopt});
    }
    now.pods = pod_readings(*cards, now.cards);
    now.xids = watcher.xid_counts();
    now.starts = starter.counts();
    now.audits = auditor.counts();
    if (grant_keys) now.grant_keys = grant_keys->state();
    now.signed_grants_required = settings.require_signed_grants;
    now.registrations = registrar.registrations();
    now.registered = plugin.watched();
    now.slots = slots;
    const auto counts = publisher.counts();
    now.node_writes = counts.writes;
    now.node_write_failures = counts.failures;
    return now;
  }

  std::vector<Readings::PodReading> pod_readings(
      const CardsNow& cards, const std::vector<Readings::CardReading>& readings_of_cards) {
    std::vector<PodUse> uses;
    for (const auto& [card, activity] : readings_of_cards) {
      if (activity) add_pod_uses(card.id, *activity, processes, "", uses);
    }
    std::map<std::pair<std::string, std::string>, std::uint64_t> used;  // pod UID, card
    for (const PodUse& use : uses) used[{use.pod_uid, use.card}] = use.bytes;
    std::vector<Readings::PodReading> readings;
    for (const LocalPodPtr& pod : pods.all()) {
      if (!pod->grant) continue;
      std::map<std::string, Readings::PodReading> by_card;
      for (const auto& container : pod->grant->containers) {
        for (const auto& part : container.cards) {
          Readings::PodReading& reading = by_card[part.uuid];
          reading.memory_limit_bytes += static_cast<std::uint64_t>(part.memory_limit.count())
                                        << 20U;
          const model::Card* card = card_of(cards, part.uuid);
          const bool whole = card != nullptr && is_whole(part, *card);
          const Enforcement held = whole ? Enforcement{true, true, ""}
                                         : enforcer(pod->grant->isolation).enforcement(part.uuid);
          reading.isolation = whole ? "whole" : std::string(to_string(pod->grant->isolation));
          reading.memory_enforced = held.memory;
          reading.compute_enforced = held.compute;
        }
      }
      for (auto& [card, reading] : by_card) {
        reading.ns = pod->pod.ns;
        reading.pod = pod->pod.name;
        reading.card = card;
        reading.memory_used_bytes = used[{pod->pod.uid, card}];
        readings.push_back(std::move(reading));
      }
    }
    return readings;
  }

  const Settings settings;
  const Parts parts;
  Journal journal;
  GrantKeysPtr grant_keys;  ///< null = signatures are not looked at
  kube::EventRecorder events;
  std::unique_ptr<CardSource> source;
  CardWatcher watcher;
  std::atomic<bool> asked = false;
  LocalPods pods;
  kube::Reflector pod_reflector;
  ProcProcesses processes;
  SystemPrograms programs;
  MpsEnforcer mps;
  TimeSliceEnforcer time_slice;
  NoneEnforcer none;
  PodResources lister;
  CdiFolder cdi;
  ContainerStarter starter;
  DevicePlugin plugin;
  Registrar registrar;
  Auditor auditor;
  NodePublisher publisher;
  std::atomic<int> slots = 0;
  std::shared_ptr<NodeMetrics> metrics;
  prometheus::Exposer exposer;
  std::vector<std::jthread> threads;  ///< end before the rest goes
};

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() { stop(); }

Result<std::unique_ptr<Agent>> Agent::create(Settings settings, Parts parts) {
  auto journal = Journal::open(settings.state_dir + "/allocations");
  if (!journal) return journal.error();
  auto keys = open_grant_keys(settings);
  std::vector<model::Card> previous;
  const auto node = read_own_node(parts.api, settings.node, kReadNodeLimit);
  if (node) {
    previous = previous_cards(*node);
  } else if (node.error().code == Errc::kNotFound) {
    return fail(Errc::kUnavailable, "there is no node " + settings.node +
                                        "; is --node-name the name of this machine's Node?");
  } else {
    // Running pods' containers must be able to start again: that needs no API server.
    spdlog::warn("the API server does not answer: {}", node.error().message);
  }
  const auto path = find_name_path(settings, parts.api, node.has_value());
  if (!path) return path.error();
  spdlog::info("containers are told of their device by {}", to_string(*path));
  auto agent = std::unique_ptr<Agent>(
      new Agent(std::make_unique<Impl>(std::move(settings), std::move(parts), std::move(*journal),
                                       std::move(keys), *path, std::move(previous))));
  agent->impl_->start();
  return agent;
}

void Agent::stop() { impl_->stop(); }

std::uint16_t Agent::port() const {
  const auto ports = impl_->exposer.GetListeningPorts();
  return ports.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(ports.front());
}

}  // namespace tangram::node
