#include "node/agent.hpp"

#include "base/environment.hpp"
#include "base/file.hpp"
#include "kube/grant_keys.hpp"
#include "kube/reflector.hpp"
#include "model/request.hpp"
#include "node/audit/auditor.hpp"
#include "node/audit/device_checker.hpp"
#include "node/audit/library_checker.hpp"
#include "node/audit/memory_checker.hpp"
#include "node/cards/card_watcher.hpp"
#include "node/cards/file_source.hpp"
#include "node/container/processes.hpp"
#include "node/container/starter.hpp"
#include "node/isolation/enforcers.hpp"
#include "node/isolation/programs.hpp"
#include "node/kubelet/container_runtime.hpp"
#include "node/kubelet/registrar.hpp"
#include "node/maintenance.hpp"
#include "node/metrics.hpp"
#include "node/name_path.hpp"
#include "node/publish/node_publisher.hpp"
#include "node/publish/other_drivers.hpp"
#include "node/publish/other_plugins.hpp"
#include "node/resize/resizer.hpp"
#include "node/slot_count.hpp"
#include "node/time_leases.hpp"

#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace tangram::node {
namespace {

constexpr std::chrono::milliseconds kReadNodeLimit{10'000};

std::unique_ptr<CardSource> open_cards(const Settings& settings) {
  if (settings.card_file.empty()) return settings.vendor->open_cards();
  return std::make_unique<FileSource>(settings.card_file);
}

CardWatcherOptions watcher_options(const Settings& settings, std::vector<model::Card> previous) {
  CardWatcherOptions options;
  options.health = settings.vendor->facts().health;
  options.previous = std::move(previous);
  options.memory_limits = settings.memory_limits;
  // To check whether a file has changed costs next to nothing.
  constexpr std::chrono::milliseconds kCheckFile{1'000};
  if (!settings.card_file.empty()) options.poll = options.wait = kCheckFile;
  return options;
}

RecordSettings record_settings(const Settings& settings, std::optional<CardSharing> sharing) {
  RecordSettings record;
  record.aggregates = settings.aggregates;
  if (!settings.own_cards.empty()) record.own_cards = parse_card_names(settings.own_cards);
  record.sharing = std::move(sharing);
  return record;
}

std::optional<LabelSettings> label_settings(const Settings& settings,
                                            std::optional<CardLabels> labels) {
  if (!labels) return std::nullopt;
  return LabelSettings{.labels = std::move(*labels), .write = settings.gpu_labels};
}

/// The kernel's id of this boot; empty if it cannot be read.
std::string boot_id() {
  auto id = read_file("/proc/sys/kernel/random/boot_id");
  if (!id) return {};
  if (id->ends_with('\n')) id->pop_back();
  return std::move(*id);
}

using GrantKeysPtr = std::unique_ptr<kube::GrantKeys>;

/// Unusable files must not keep the containers of running pods from starting again.
GrantKeysPtr open_grant_keys(const Settings& settings) {
  if (settings.grant_keys.empty()) return nullptr;
  return kube::GrantKeys::open_when_usable({.known = settings.grant_keys});
}

}  // namespace

struct Agent::Impl {
  /// What an earlier agent has published in the Node.
  struct Previous {
    std::vector<model::Card> cards;
    model::ResizeAnswers resizes;
  };
  /// What may go wrong is opened before.
  struct Opened {
    Journal journal;
    GrantKeysPtr keys;
    std::optional<CardSharing> sharing;
    std::optional<CardLabels> labels;
    NamePath path;
  };
  Impl(Settings given, Parts outside, Opened opened, Previous previous)
      : settings(std::move(given)),
        parts(std::move(outside)),
        name_path(opened.path),
        journal(std::move(opened.journal)),
        grant_keys(std::move(opened.keys)),
        events(parts.api, parts.reporter, parts.clock),
        source(open_cards(settings)),
        watcher(*source, watcher_options(settings, std::move(previous.cards)), parts.clock,
                [this] { cards_changed(); }),
        pods(parts.api,
             {.node = settings.node,
              .device_variable = settings.vendor->facts().runtime.variable,
              .no_card = settings.vendor->facts().runtime.no_card,
              .check = signature_check()},
             parts.clock, [this] { pods_changed(); }),
        pod_reflector(parts.api, LocalPods::to_watch(settings.node), pods, parts.clock),
        programs(settings.vendor->programs()),
        enforcers({*source, *programs, parts.clock, settings.sharers_per_card,
                   !processes.pod_of(getpid()).empty(),
                   settings.memory_limits != model::MemoryLimits::kNone},
                  [this](model::Isolation mode, const EnforcerParts& of) {
                    return settings.vendor->enforcer(mode, of);
                  }),
        memory_limiters([this](model::MemoryLimits means) {
          return settings.vendor->memory_limiter(means, settings.state_dir);
        }),
        lister(settings.kubelet_dir + "/pod-resources/kubelet.sock",
               std::string(model::kSlotResource)),
        cdi(settings.cdi_dir),
        starter(starter_parts(),
                {.node = settings.node,
                 .boot = boot,
                 .name_path = name_path,
                 .runtime = settings.vendor->facts().runtime,
                 // Cards of a file cannot be seen anyway.
                 .cards_by_runtime = settings.cards_by_runtime || !settings.card_file.empty()}),
        card_leases(parts.clock),
        time_leases(lease_parts()),
        plugin(starter),
        registrar({.folder = settings.plugin_dir}, std::string(model::kSlotResource), plugin),
        auditor(auditor_parts()),
        other_plugins({.checkpoint = [this] { return checkpoint(); },
                       .pods = pods,
                       .cards = [this] { return watcher.now(); },
                       .with_process = [this] { return processes.pods(); }}),
        other_drivers(settings.node,
                      {.api = parts.api, .changed = [this] { publisher.changed(); }}),
        publisher({.node = settings.node,
                   .record = record_settings(settings, std::move(opened.sharing)),
                   .labels = label_settings(settings, std::move(opened.labels))},
                  publisher_parts()),
        maintenance(maintenance_parts()),
        metrics([this] { return readings(); }) {
    open_runtime();
    library_checker.emplace(library_parts());
    memory_checker.emplace(memory_parts());
    resizer.emplace(resizer_parts(std::move(previous.resizes)));
  }

  ContainerStarter::Parts starter_parts() {
    return {.slot_owners = [this] { return slot_owners(); },
            .lister = lister,
            .pods = pods,
            .source = *source,
            .cards = [this] { return watcher.now(); },
            .processes = processes,
            .enforcer = [this](model::Isolation mode) -> Enforcer& { return enforcers.of(mode); },
            .memory_limiters = memory_limiters,
            .journal = journal,
            .cdi = cdi,
            .vendor_edits = [this](const auto& ids) { return settings.vendor->cdi_edits(ids); },
            .report_event = event_reporter(),
            .random = parts.random,
            .started =
                [this] {
                  time_leases.changed();
                  if (device_checker) device_checker->started();
                },
            .applied_revision = [this](auto uid) { return resizer->applied_revision(uid); },
            .runtime_config = [this] { return runtime_config(); },
            .clock = parts.clock};
  }

  /// Nothing where the runtime does not answer: then it starts no container either.
  RuntimeConfig runtime_config() {
    if (!runtime) return {};
    auto config = runtime->config();
    if (!config) spdlog::warn("{}", config.error().message);
    return config ? std::move(*config) : RuntimeConfig{};
  }

  TimeLeases::Parts lease_parts() {
    return {.claims = [this] { return starter.claims(); },
            .started = [this] { return started_means(journal.all()); },
            .pages_of = [this](auto allocation) { return memory_limiters.pages(allocation); },
            .lease = [this](const LeasedCards& cards) { card_leases.set(cards); }};
  }

  Auditor::Parts auditor_parts() {
    return {.node = settings.node,
            .own_pod = processes.pod_of(getpid()),
            .slot_owners = [this] { return slot_owners(); },
            .lister = lister,
            .pods = pods,
            .source = *source,
            .cards = [this] { return watcher.now(); },
            .processes = processes,
            .journal = journal,
            .cdi = cdi,
            .report_event = event_reporter()};
  }

  MemoryChecker::Parts memory_parts() {
    return {.claims = [this] { return claims_of_present(pods, journal); },
            .source = *source,
            .processes = processes,
            .runtime = runtime ? &*runtime : nullptr,
            .note_use =
                [this](const MemoryUse& use) {
                  memory_limiters.note_use(use.allocations, {{use.card, use.used_bytes}});
                  library_checker->note_use(use);
                },
            .report_event = event_reporter(),
            .terminates = settings.terminate_over_limit,
            .clock = parts.clock};
  }

  LibraryChecker::Parts library_parts() {
    return {.way_past =
                [this](const MemoryUse& use, std::int64_t pid) {
                  const StartedMeans started = started_means(journal.all());
                  const auto found = started.find({use.pod_uid, use.container, use.card});
                  return found == started.end() ? std::string()
                                                : memory_limiters.way_past(found->second, pid);
                },
            .report_event = event_reporter(),
            .clock = parts.clock};
  }

  Resizer::Parts resizer_parts(model::ResizeAnswers previous) {
    model::SignatureCheck check;
    if (grant_keys) check = [this](std::string_view text) { return grant_keys->check(text); };
    return {.pods = pods,
            .journal = journal,
            .limiters = memory_limiters,
            .source = *source,
            .processes = processes,
            .runtime = runtime ? &*runtime : nullptr,
            .cards = [this] { return watcher.now(); },
            .check = std::move(check),
            .previous = std::move(previous),
            .changed =
                [this] {
                  publisher.changed();
                  time_leases.changed();
                },
            .report_event = event_reporter(),
            .boot = boot,
            .clock = parts.clock};
  }

  NodePublisher::Parts publisher_parts() {
    return {.api = parts.api,
            .clock = parts.clock,
            .cards = [this] { return known_cards(); },
            .pods = [this] { return node_pods(); },
            .other_owners = [this] { return other_owners(); },
            .report_event = event_reporter(),
            .seen = [this](const OwnNode& node) { parts.pool_seen(node.pool); }};
  }

  Maintenance::Parts maintenance_parts() {
    return {.starter = starter,
            .enforcers = enforcers,
            .memory_limiters = memory_limiters,
            .journal = journal,
            .pods = pods,
            .pod_reflector = pod_reflector,
            .watcher = watcher,
            .other_plugins = other_plugins,
            .grant_keys = grant_keys.get(),
            .owners_changed = [this] { publisher.changed(); }};
  }

  /// Of running containers; nothing without a socket of the runtime.
  void open_runtime() {
    if (settings.runtime_socket.empty()) return;
    runtime.emplace(settings.runtime_socket);
    device_checker.emplace(DeviceChecker::Parts{.runtime = *runtime,
                                                .lister = lister,
                                                .slot_owners = [this] { return slot_owners(); },
                                                .journal = journal,
                                                .report_event = event_reporter(),
                                                .clock = parts.clock},
                           settings.audit_interval);
  }

  /// From now on, other threads read all of this.
  Result<void> open_metrics() {
    auto opened = MetricsListener::open(
        settings.metrics,
        {.page = [this] { return prometheus::TextSerializer().Serialize(metrics.Collect()); },
         .reviews = parts.reviews,
         .clock = parts.clock});
    if (!opened) return opened.error();
    listener = std::move(*opened);
    return {};
  }

  void start() {
    if (const auto restored = auditor.restore(); restored > 0) {
      spdlog::info("wrote {} missing CDI specs of running pods again", restored);
    }
    memory_limiters.resume(started_means(journal.all()));
    update_slots();
    if (name_path == NamePath::kEnvironment) report_variable();
    run([this](const std::stop_token& stop) { pod_reflector.run(stop); });
    run([this](const std::stop_token& stop) { watcher.run(stop); });
    run([this](const std::stop_token& stop) { registrar.run(stop); });
    run([this](const std::stop_token& stop) { other_drivers.run(stop); });
    run([this](const std::stop_token& stop) { maintenance.run(stop); });
    run([this](const std::stop_token& stop) { auditor.run(settings.audit_interval, stop); });
    run([this](const std::stop_token& stop) { memory_checker->run(stop); });
    if (settings.time_lease) run([this](const std::stop_token& stop) { time_leases.run(stop); });
    run([this](const std::stop_token& stop) { library_checker->run(stop); });
    run([this](const std::stop_token& stop) {
      resizer->restore();
      resizer->run(stop);
    });
    if (device_checker) {
      run([this](const std::stop_token& stop) { device_checker->run(stop); });
    }
    publisher.start();
  }

  void report_variable() {
    const std::string note =
        "the agent passes cards in " + std::string(settings.vendor->facts().runtime.variable) +
        " (--device-ids-by=env), so it refuses pods in which Tangram's webhook has set that "
        "variable; enable CDI in the container runtime, unless the cluster has no webhook";
    spdlog::warn("{}", note);
    events.record({.kind = "Node",
                   .ns = "",
                   .name = settings.node,
                   .uid = settings.node,
                   .type = kube::EventNote::Type::kWarning,
                   .reason = "CardByEnvironment",
                   .action = "Start",
                   .note = note});
  }

  void stop() {
    publisher.stop();
    for (std::jthread& thread : threads) thread.request_stop();
    threads.clear();
  }

  void run(std::function<void(const std::stop_token&)> work) {
    threads.emplace_back([work = std::move(work)](const std::stop_token& stop) { work(stop); });
  }

  std::function<void(kube::EventNote)> event_reporter() {
    return [this](kube::EventNote note) { events.record(std::move(note)); };
  }

  [[nodiscard]] Result<Checkpoint> checkpoint() const {
    auto text = read_file(settings.plugin_dir + "/" + std::string(kCheckpointFile));
    if (!text) return text.error();
    return decode_checkpoint(std::move(*text), model::kSlotResource);
  }

  [[nodiscard]] Result<std::vector<SlotOwner>> slot_owners() const {
    auto read = checkpoint();
    if (!read) return read.error();
    return std::move(read->slots);
  }

  /// Null until the source has answered or failed for the first time: until then the cards that an
  /// earlier agent published stay published.
  CardsPtr known_cards() {
    const CardsPtr cards = watcher.now();
    const bool known = cards->answers || !cards->inventory.cards.empty();
    return polled && known ? cards : nullptr;
  }

  std::optional<NodePods> node_pods() {
    const auto requested = pods.requested();
    auto resizes = resizer->state();
    if (!requested || !resizes) return std::nullopt;
    return NodePods{.requested = *requested,
                    .released = resizes->released,
                    .resizes = std::move(resizes->answers)};
  }

  std::optional<OtherOwners> other_owners() {
    auto resources = other_plugins.in_use();
    auto drivers = other_drivers.published();
    if (!resources || !drivers) return std::nullopt;
    return OtherOwners{std::move(*resources), std::move(*drivers)};
  }

  void pods_changed() {
    note_shown(pods, journal);
    resizer->wake();
    publisher.changed();
    time_leases.changed();
  }

  void cards_changed() {
    polled = true;
    update_slots();
    publisher.changed();
  }

  /// Of the pods' grants. The grant with which a container was admitted stays valid even if its key
  /// was retired: the container runs.
  model::SignatureCheck signature_check() {
    if (!grant_keys) return {};
    auto check = kube::signature_check(*grant_keys, settings.require_signed_grants);
    return [this, check = std::move(check)](std::string_view text) {
      auto verdict = check(text);
      if (!verdict.problem.empty() && journal.has_admitted(text)) verdict.problem.clear();
      return verdict;
    };
  }

  /// Never fewer than before: kubelet may allocate a slot after its checkpoint was read.
  void update_slots() {
    const int count =
        slot_count(watcher.now()->inventory, settings.sharers_per_card, slot_owners());
    slots = std::max<int>(slots, count);
    plugin.set_slots(slots);
  }

  Readings readings() {
    Readings now;
    now.cards = read_cards(*source, *watcher.now());
    now.pods = read_pods({.claims = claims_of_present(pods, journal),
                          .enforcers = enforcers,
                          .started = started_means(journal.all()),
                          .leased = time_leases.leased(),
                          .processes = processes},
                         now.cards);
    now.driver_errors = watcher.error_counts();
    now.starts = starter.counts();
    now.audits = auditor.counts();
    if (device_checker) now.device_checks = device_checker->counts();
    now.memory_checks = memory_checker->state();
    now.library_checks = library_checker->state();
    now.resizes = resizer->counts();
    if (grant_keys) now.grant_keys = grant_keys->state();
    now.signed_grants_required = settings.require_signed_grants;
    now.registrations = registrar.registrations();
    now.registered = plugin.watched();
    now.pods_left_out = pods.left_out();
    now.pods_watch_lag_seconds =
        std::chrono::duration<double>(parts.clock.now() - pod_reflector.health().last_heard)
            .count();
    now.slots = slots;
    const auto counts = publisher.counts();
    now.node_writes = counts.writes;
    now.node_write_failures = counts.failures;
    return now;
  }

  const Settings settings;
  const Parts parts;
  const NamePath name_path;
  const std::string boot = boot_id();
  Journal journal;
  GrantKeysPtr grant_keys;  ///< null = signatures are not checked
  kube::EventRecorder events;
  std::unique_ptr<CardSource> source;
  CardWatcher watcher;
  std::atomic<bool> polled = false;  ///< the source answered or failed
  LocalPods pods;
  kube::Reflector pod_reflector;
  ProcProcesses processes;
  std::unique_ptr<Programs> programs;
  Enforcers enforcers;
  MemoryLimiters memory_limiters;
  PodResources lister;
  CdiFolder cdi;
  std::optional<CriRuntime> runtime;
  std::optional<DeviceChecker> device_checker;
  // Always; made after what they use.
  std::optional<LibraryChecker> library_checker;
  std::optional<MemoryChecker> memory_checker;
  std::optional<Resizer> resizer;
  ContainerStarter starter;
  lease::CardLeases card_leases;  ///< used by time_leases
  TimeLeases time_leases;
  DevicePlugin plugin;
  Registrar registrar;
  Auditor auditor;
  OtherPlugins other_plugins;
  OtherDrivers other_drivers;
  NodePublisher publisher;
  Maintenance maintenance;
  std::atomic<int> slots = 0;
  NodeMetrics metrics;
  std::unique_ptr<MetricsListener> listener;  ///< null until it is open
  std::vector<std::jthread> threads;          ///< end before the rest
};

Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() { stop(); }

Result<std::unique_ptr<Agent>> Agent::create(Settings settings, Parts parts) {
  auto journal = Journal::open(settings.state_dir + "/allocations");
  if (!journal) return journal.error();
  auto keys = open_grant_keys(settings);
  Impl::Previous previous;
  const auto node = read_own_node(parts.api, settings.node, kReadNodeLimit);
  if (node) {
    previous = {.cards = previous_cards(*node), .resizes = previous_resizes(*node)};
  } else if (node.error().code == Errc::kNotFound) {
    return fail(Errc::kUnavailable, "there is no node " + settings.node +
                                        "; is --node-name the name of this machine's Node?");
  } else {
    // Containers of running pods must be able to start again, for which no API server is needed.
    spdlog::warn("the API server does not answer: {}", node.error().message);
  }
  const auto path = find_name_path(settings, node);
  if (!path) return path.error();
  auto sharing = settings.vendor->card_sharing();
  if (!sharing) return sharing.error();
  auto labels = settings.vendor->card_labels();
  if (!labels) return labels.error();
  // Each replica of a card needs a slot.
  if (*sharing) {
    settings.sharers_per_card = std::max(settings.sharers_per_card, (*sharing)->most_replicas);
  }
  spdlog::info("containers get their CDI device by {}", to_string(*path));
  auto agent = std::unique_ptr<Agent>(
      new Agent(std::make_unique<Impl>(std::move(settings), std::move(parts),
                                       Impl::Opened{.journal = std::move(*journal),
                                                    .keys = std::move(keys),
                                                    .sharing = std::move(*sharing),
                                                    .labels = std::move(*labels),
                                                    .path = *path},
                                       std::move(previous))));
  if (auto opened = agent->impl_->open_metrics(); !opened) return opened.error();
  agent->impl_->start();
  return agent;
}

void Agent::stop() { impl_->stop(); }

std::uint16_t Agent::port() const { return impl_->listener->port(); }

}  // namespace tangram::node
