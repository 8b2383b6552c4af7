#pragma once

#include "base/file.hpp"
#include "base/json.hpp"
#include "model/request.hpp"
#include "node/container/starter.hpp"
#include "node/kubelet/registrar.hpp"
#include "tests/node/container/start_fakes.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tangram::node {

/// A container starter behind its device plugin, and the kubelet that uses it; all of it but the
/// API server, the cards and the enforcer is real.
struct StartRig {
  using Owner = testing::FakeKubelet::Owner;
  static constexpr const char* kBoot = "4f1c";

  explicit StartRig(std::uint64_t seed = 1, int slots = 32)
      : kubelet(folder.path(), seed), slot_count(slots), engine(seed) {
    Inventory inventory;
    for (const char* id : {"GPU-1", "GPU-2"}) {
      InstalledCard card;
      card.card = testing::card(id);
      inventory.cards.push_back(card);
    }
    set_cards(inventory);
    kubelet.start();
    boot_agent();
  }
  ~StartRig() { kill_agent(); }
  StartRig(const StartRig&) = delete;
  StartRig& operator=(const StartRig&) = delete;

  Result<std::vector<SlotOwner>> slot_owners() const {
    auto text = read_file(kubelet.checkpoint());
    if (!text) return text.error();
    auto checkpoint = decode_checkpoint(std::move(*text), model::kSlotResource);
    if (!checkpoint) return checkpoint.error();
    return std::move(checkpoint->slots);
  }
  void set_cards(Inventory inventory) {
    cards = std::make_shared<const CardsNow>(CardsNow{std::move(inventory), true});
  }

  /// Everything the agent knows but did not write down is lost with it.
  void kill_agent() {
    stop.request_stop();
    if (thread.joinable()) thread.join();
    registrar.reset();
    plugin.reset();
    starter.reset();
    journal.reset();
  }
  void boot_agent() {
    auto opened = Journal::open(folder.path() + "/allocations");
    if (!opened) throw std::runtime_error(opened.error().message);
    journal = std::make_unique<Journal>(std::move(*opened));
    starter = std::make_unique<ContainerStarter>(
        ContainerStarter::Parts{.slot_owners = [this] { return slot_owners(); },
                                .lister = lister,
                                .pods = pods,
                                .source = source,
                                .cards = [this] { return cards; },
                                .processes = processes,
                                .enforcer = [this](model::Isolation mode) -> Enforcer& {
                                  return mode == model::Isolation::kMps ? enforcer : other_enforcer;
                                },
                                .memory_limiters = memory_limiters,
                                .journal = *journal,
                                .cdi = cdi,
                                .vendor_edits =
                                    [this](const auto&) {
                                      during_edits();
                                      return vendor_edits;
                                    },
                                .report_event =
                                    [this](kube::EventNote note) {
                                      const std::lock_guard lock(mutex);
                                      events.push_back(note.reason + " " + note.name + ": " +
                                                       note.note);
                                    },
                                .random = [this] { return engine(); },
                                .started = [this] { ++allowed; },
                                .applied_revision = [this](std::string_view) { return applied; },
                                .runtime_config = [this] { return runtime_config; },
                                .clock = clock,
                                .sleeper =
                                    [this](std::chrono::milliseconds, std::stop_token) {
                                      during_delay();
                                      const std::lock_guard lock(mutex);
                                      ++settled;
                                    }},
        ContainerStarter::Settings{
            .node = "n1",
            .boot = kBoot,
            .name_path = name_path,
            .runtime = {.variable = "ACME_DEVICES", .no_card = "none", .setup = "set it up"},
            .cards_by_runtime = cards_by_runtime});
    plugin = std::make_unique<DevicePlugin>(*starter);
    plugin->set_slots(slot_count);
    PluginPaths paths;
    paths.folder = kubelet.plugin_folder();
    registrar = std::make_unique<Registrar>(paths, std::string(model::kSlotResource), *plugin);
    stop = std::stop_source();
    thread = std::thread([this] { registrar->run(stop.get_token()); });
    if (!testing::eventually([&] { return plugin->watched() && kubelet.slots() == slot_count; })) {
      throw std::runtime_error("the plugin did not register");
    }
  }

  /// A pod as the API server would have it, bound with these cards for the container "main".
  Owner bound(const std::string& name, const std::vector<model::GrantedCard>& granted,
              const std::string& issued_at = "2026-01-01T00:00:00Z",
              const model::Signer& signer = {}) {
    model::Grant grant{.pod_uid = "uid-" + name,
                       .node = "n1",
                       .issued_at = issued_at,
                       .isolation = model::Isolation::kMps,
                       .containers = {{"main", granted}},
                       .signature = {}};
    put_pod(name, model::encode_signed(grant, signer));
    return {.uid = "uid-" + name, .pod = name};
  }
  void put_pod(const std::string& name, const std::string& grant,
               std::vector<model::ContainerInfo> containers = {{.name = "main", .slots = 1}}) {
    LocalPod pod;
    pod.pod.uid = "uid-" + name;
    pod.pod.ns = "ml";
    pod.pod.name = name;
    pod.pod.node = "n1";
    pod.pod.containers = std::move(containers);
    pod.grant_text = grant;
    read_pod_grant(pod, "n1", check);
    pods.put(std::move(pod));
  }

  /// A variable that the runtime would set in the container; "-" = it finds no such device, and
  /// does not start the container.
  std::string env(const Owner& owner, const std::string& variable) const {
    const std::string device = kubelet.device_of(owner);
    auto text = read_file(folder.path() + "/cdi/tangram.dev-slot-" +
                          device.substr(device.find('=') + 1) + ".json");
    if (!text) return "-";
    const auto at = text->find("\"" + variable + "=");
    if (at == std::string::npos) return "";
    const auto begin = at + variable.size() + 2;
    return text->substr(begin, text->find('"', begin) - begin);
  }
  std::string cards_of(const Owner& owner) const { return env(owner, "TANGRAM_CARD_UUIDS"); }

  testing::TempFolder folder;
  testing::FakeKubelet kubelet;
  const int slot_count;
  std::mt19937_64 engine;
  testing::ManualClock clock;
  FakePods pods;
  model::SignatureCheck check;  ///< of the pods' grants
  FakeSource source;
  FakeProcesses processes;
  FakeEnforcer enforcer;           ///< of the mode mps
  FakeEnforcer other_enforcer;     ///< of the others
  FakeLimiter* limiter = nullptr;  ///< of the library, once it is made; owned by the next
  MemoryLimiters memory_limiters{[this](model::MemoryLimits means) -> MemoryLimiters::Made {
    if (means != model::MemoryLimits::kLibrary) return std::unique_ptr<MemoryLimiter>();
    auto made = std::make_unique<FakeLimiter>();
    limiter = made.get();
    return made;
  }};
  CdiFolder cdi{folder.path() + "/cdi"};
  PodResources lister{kubelet.pod_resources_socket(), std::string(model::kSlotResource)};
  CardsPtr cards;
  NamePath name_path = NamePath::kCdiDevices;  ///< of an agent that boots
  Result<CdiEdits> vendor_edits = fail(Errc::kNotFound, "no spec");
  bool cards_by_runtime = true;
  RuntimeConfig runtime_config;
  std::mutex mutex;
  std::vector<std::string> events;
  int settled = 0;
  std::atomic<int> allowed = 0;                ///< starts
  int applied = 0;                             ///< the revision that was published, of any pod
  std::function<void()> during_edits = [] {};  ///< between a claim and its spec
  std::function<void()> during_delay = [] {};  ///< between a spec and the answer to kubelet

  std::unique_ptr<Journal> journal;
  std::unique_ptr<ContainerStarter> starter;
  std::unique_ptr<DevicePlugin> plugin;
  std::unique_ptr<Registrar> registrar;
  std::stop_source stop;
  std::thread thread;
};

}  // namespace tangram::node
