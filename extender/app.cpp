#include "extender/app.hpp"

#include "extender/admission/service.hpp"
#include "extender/page/api_routes.hpp"
#include "extender/page/page_routes.hpp"
#include "http/router.hpp"
#include "policies/trace_pods.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

/// Of the tasks that look for something to do: what they wait for takes seconds.
constexpr milliseconds kTaskInterval{1'000};

/// The API server and kube-scheduler mostly run on the same machine, and need cores as well.
constexpr std::size_t kMostHelperThreads = 3;

/// They work beside a thread that has much to do.
std::size_t helper_threads(const config::Config::Server& server) {
  return std::min(server_threads(server) - 1, kMostHelperThreads);
}

/// client-go waits up to 30 s for a server that was away; here no pod gets its card meanwhile, and
/// three watches of a replica or two are little load.
constexpr milliseconds kLongestWatchBackoff{5'000};

/// For events that are still to be written when the service stops.
constexpr milliseconds kFlushTimeout{2'000};

Result<cluster::PolicySettings> policy_settings(
    const config::Config& config, std::shared_ptr<const policies::Workload> workload) {
  cluster::PolicySettings settings{
      .default_policy = config.scheduler.policy,
      .requests = config.scheduler.requests(),
      .options = {},
      .learn_workload = !workload && config.fragmentation.workload_file.empty(),
      .learning = {.window_pods = static_cast<std::size_t>(config.fragmentation.learn_window_pods),
                   .relearn_every =
                       static_cast<std::size_t>(config.fragmentation.relearn_every_pods)},
      .coverage_percent = config.fragmentation.coverage_percent};
  settings.options.bestfit_cpu = config.bestfit.cpu;
  settings.options.bestfit_gpu = config.bestfit.gpu;
  if (workload) {
    settings.options.workload = std::move(workload);
  } else if (!settings.learn_workload) {
    auto pods = policies::read_trace_pods(config.fragmentation.workload_file, "name");
    if (!pods) return pods.error();
    settings.options.workload = std::make_shared<const policies::Workload>(policies::workload_of(
        *pods, settings.requests.default_isolation, settings.coverage_percent));
  }
  if (auto policy = policies::make_policy(settings.default_policy, settings.options); !policy) {
    return fail(Errc::kInvalidArgument, "scheduler.policy: " + policy.error().message);
  }
  return settings;
}

kube::ReflectorOptions watch(const config::Config& config, const char* path,
                             const char* field_selector = "") {
  return {.path = path,
          .field_selector = field_selector,
          .page_size = config.kube.page_size,
          .max_backoff = kLongestWatchBackoff};
}

/// Of the releases that have PodGroups, 1.37 first: it serves v1alpha3 as well.
std::vector<kube::ReflectorOptions> watch_pod_groups(const config::Config& config) {
  return {watch(config, "/apis/scheduling.k8s.io/v1beta1/podgroups"),
          watch(config, "/apis/scheduling.k8s.io/v1alpha3/podgroups"),
          watch(config, "/apis/scheduling.k8s.io/v1alpha2/podgroups")};
}

/// kube-scheduler's own rule of which pods take up room.
constexpr const char* kNotFinished = "status.phase!=Succeeded,status.phase!=Failed";

Result<std::unique_ptr<kube::GrantKeys>> open_grant_keys(const config::Config::Grants& settings) {
  if (settings.public_keys.empty()) return std::unique_ptr<kube::GrantKeys>();
  return kube::GrantKeys::open({.signing = settings.signing_key, .known = settings.public_keys});
}

}  // namespace

Result<std::unique_ptr<App>> App::create(const config::Config& config, const Parts& parts) {
  auto settings = policy_settings(config, parts.workload);
  if (!settings) return settings.error();
  settings->learn_at_once = parts.learn_at_once;
  // Before any thread of ours: the first line makes the logger that they all use.
  spdlog::debug("policy {}, short-list {}", config.scheduler.policy, config.scheduler.short_list);
  auto keys = open_grant_keys(config.grants);
  if (!keys) return keys.error();
  std::unique_ptr<App> app(new App(config, parts, std::move(*settings), std::move(*keys)));
  if (auto joined = app->join_election(config); !joined) return joined.error();
  if (auto listening = app->listen(config); !listening) return listening.error();
  app->background_.start(app->tasks());
  if (app->leadership_) app->leadership_->start();
  return app;
}

std::vector<Task> App::tasks() {
  constexpr milliseconds kUntilStopped{0};
  const auto until_stopped = [](auto& part) {
    return [&part](const std::stop_token& stop) { part.run(stop); };
  };
  const auto repeated = [this](void (App::*step)()) {
    return [this, step](const std::stop_token& /*stop*/) { (this->*step)(); };
  };
  std::vector<Task> tasks{
      {"watch nodes", kUntilStopped, until_stopped(node_reflector_)},
      {"watch pods", kUntilStopped, until_stopped(pod_reflector_)},
      {"watch disruption budgets", kUntilStopped, until_stopped(budget_reflector_)},
      {"watch pod groups", kUntilStopped,
       [this](const std::stop_token& stop) {
         kube::watch_if_served(parts_.api, pod_group_watches_, pod_groups_, parts_.clock, stop);
       }},
      {"publish the packing", kUntilStopped, until_stopped(news_)},
      {"wake waiting pods", kUntilStopped, until_stopped(waker_)},
      {"make room on single cards", kUntilStopped, until_stopped(card_preemptor_)},
      {"move pods for waiting ones", kUntilStopped, until_stopped(defragmenter_)},
      {"resize running pods", kUntilStopped, until_stopped(resizer_)},
      // First of those that take turns: the next one waits for the API server.
      {"reload grant keys", kTaskInterval, repeated(&App::reload_grant_keys)},
      {"list budgets again", kTaskInterval, repeated(&App::list_budgets_again)},
      {"resolve overdue binds", kTaskInterval,
       [this](const std::stop_token& stop) { binder_.resolve_overdue(stop); }},
      {"examine cards", kTaskInterval, repeated(&App::examine_cards)},
      {"forget answers about unknown pods", kTaskInterval,
       [this](const std::stop_token& /*stop*/) { pods_.forget_unseen(); }},
      {"report as a new leader", kTaskInterval, repeated(&App::report_as_new_leader)},
      {"evict stuck pods", kTaskInterval, repeated(&App::evict_stuck_pods)},
      {"evict pods from broken cards", kTaskInterval, repeated(&App::evict_from_broken_cards)}};
  if (!parts_.learn_at_once) {
    tasks.push_back({.name = "learn from arrivals",
                     .interval = kUntilStopped,
                     .run = [this](const std::stop_token& stop) { policies_.keep_learning(stop); },
                     .yields = true});
  }
  return tasks;
}

/// @returns false if the outcome of one is not known
bool App::finish_binds() {
  verb_routes_.finish_binds();
  if (!resizer_.finish()) return false;
  return ledger_.apply([](const model::Ledger& ledger) { return ledger.assumed_count() == 0; });
}

Result<void> App::join_election(const config::Config& config) {
  if (!*parts_.replica) return {};
  auto leadership = Leadership::create(config.leader_election, **parts_.replica,
                                       {.api = parts_.api,
                                        .clock = parts_.clock,
                                        .nodes = node_reflector_,
                                        .pods = pod_reflector_,
                                        .finish = [this] { return finish_binds(); },
                                        .random = parts_.random});
  if (!leadership) return leadership.error();
  leadership_ = std::move(*leadership);
  return {};
}

App::App(const config::Config& config, const Parts& parts, cluster::PolicySettings policy_settings,
         GrantKeysPtr grant_keys)
    : parts_(parts),
      grant_keys_(std::move(grant_keys)),
      check_(grant_keys_ ? kube::signature_check(*grant_keys_, config.grants.required)
                         : model::SignatureCheck()),
      ledger_(parts.clock),
      policies_(std::move(policy_settings), [this] { return ledger_.snapshot(); }),
      pod_events_({.api = parts.api,
                   .clock = parts.clock,
                   .reporter = parts.reporter,
                   .serving = [this] { return serving(); }}),
      pods_({&policies_, &pod_events_}),
      offers_(parts.clock, static_cast<std::size_t>(config.scheduler.offer_memory_pods),
              config.scheduler.offer_penalty),
      promises_(parts.clock),
      denials_(parts.clock),
      group_attempts_(parts.clock),
      pod_groups_([this](const std::string& key) { group_reservations_.attempt_failed(key); }),
      group_reservations_(
          {.attempts = group_attempts_,
           .ledger = ledger_,
           .pods = pods_,
           .groups = pod_groups_,
           .denials = denials_},
          {.hold = config.scheduler.hold_ttl, .long_hold = config.scheduler.long_hold_ttl}),
      // A plan begins with a few writes, between which nothing is renewed.
      move_places_(ledger_, parts.clock, milliseconds(10'000) + 6 * config.bind.timeout),
      binder_(binder_parts(),
              {.api_timeout = config.bind.timeout, .assume_ttl = config.scheduler.assume_ttl}),
      admission_(admission_settings(config, check_), parts.clock,
                 [this](const AdmissionService::Done& done) { admission_metrics_.count(done); }),
      verbs_(verb_parts(), {.short_list = static_cast<std::size_t>(config.scheduler.short_list),
                            .hold_ttl = config.scheduler.hold_ttl,
                            .long_hold_ttl = config.scheduler.long_hold_ttl,
                            .filter_helpers = helper_threads(config.server)}),
      verb_routes_({.bind_workers = static_cast<std::size_t>(config.bind.workers),
                    .bind_queue = static_cast<std::size_t>(config.bind.queue),
                    .bind_timeout = config.bind.timeout},
                   {.verbs = verbs_,
                    .clock = parts.clock,
                    .leads = [this] { return leads(); },
                    .not_ready = [this] { return not_ready(); }}),
      resizer_({.api_timeout = config.bind.timeout}, resizer_parts()),
      evictor_({.enabled = config.eviction.enabled,
                .after = config.eviction.after,
                .per_minute = config.eviction.per_minute,
                .api_timeout = config.bind.timeout},
               evictor_parts()),
      broken_card_pods_({.api = parts.api,
                         .clock = parts.clock,
                         .policies = policies_,
                         .pods = pods_,
                         .api_timeout = config.bind.timeout}),
      card_evictor_({.enabled = config.broken_cards.evict,
                     .after = config.broken_cards.after,
                     .per_minute = config.broken_cards.per_minute,
                     .api_timeout = config.bind.timeout,
                     .metric = kBrokenCardEvictions},
                    card_evictor_parts()),
      waker_({.ns = config.scheduler.wake ? parts.ns : "", .api_timeout = config.bind.timeout},
             waker_parts()),
      card_preemptor_({.enabled = config.card_preemption.enabled,
                       .per_minute = config.card_preemption.per_minute,
                       .api_timeout = config.bind.timeout},
                      card_preemptor_parts()),
      relocation_(parts.api, config.bind.timeout),
      defragmenter_({.enabled = config.defrag.enabled,
                     .moves_per_hour = config.defrag.moves_per_hour,
                     .from_hour = config.defrag.from_hour,
                     .until_hour = config.defrag.until_hour,
                     .min_gain_percent = config.defrag.min_gain_percent,
                     .waited = config.defrag.waited,
                     .requests_ns = config.defrag.on_request ? parts.ns : "",
                     .api_timeout = config.bind.timeout},
                    defragmenter_parts()),
      node_feed_(ledger_, counters_),
      pod_feed_(ledger_, pods_, policies_, counters_, check_, helper_threads(config.server)),
      node_reflector_(parts.api, watch(config, "/api/v1/nodes"), node_feed_, parts.clock),
      pod_reflector_(parts.api, watch(config, "/api/v1/pods", kNotFinished), pod_feed_,
                     parts.clock),
      budget_reflector_(parts.api, watch(config, "/apis/policy/v1/poddisruptionbudgets"), budgets_,
                        parts.clock),
      pod_group_watches_(watch_pod_groups(config)),
      cluster_metrics_(metrics_parts()),
      news_({.ledger = ledger_, .pods = pods_, .clock = parts.clock}),
      metrics_access_(config.metrics.authentication == config::MetricsAuthentication::kToken
                          ? std::make_unique<kube::MetricsAccess>(parts.api, parts.clock)
                          : nullptr) {}

Binder::Parts App::binder_parts() {
  return {.api = parts_.api,
          .ledger = ledger_,
          .pods = pods_,
          .offers = offers_,
          .promises = promises_,
          .policies = policies_,
          .clock = parts_.clock,
          .may_write = [this](milliseconds takes) { return may_write(takes); },
          .sign = kube::signer(grant_keys_.get()),
          .check = check_};
}

Verbs::Parts App::verb_parts() {
  return {.ledger = ledger_,
          .policies = policies_,
          .offers = offers_,
          .binder = binder_,
          .promises = promises_,
          .denials = denials_,
          .groups = group_reservations_,
          .move_places = move_places_,
          .pods = pods_,
          .budgets = [this] { return budgets(); },
          .not_ready = [this] { return not_ready(); },
          .clock = parts_.clock,
          .following = [this] { return following(); }};
}

std::function<bool(milliseconds)> App::writes_of_the_leader() {
  return [this](milliseconds takes) { return serving() && may_write(takes); };
}

App::Report App::reporter(const char* action) {
  return [this, action](const cluster::PodName& pod, std::string_view reason,
                        const std::string& sentence) {
    pod_events_.report(pod, reason, action, sentence);
  };
}

Resizer::Parts App::resizer_parts() {
  return {.api = parts_.api,
          .ledger = ledger_,
          .pods = pods_,
          .promises = promises_,
          .policies = policies_,
          .clock = parts_.clock,
          .may_write = writes_of_the_leader(),
          .sign = kube::signer(grant_keys_.get()),
          .check = check_,
          .report = reporter("Resize")};
}

Evictor::Parts App::evictor_parts() {
  return {.api = parts_.api,
          .clock = parts_.clock,
          .may_write = writes_of_the_leader(),
          .report = [report = reporter("Evict")](const cluster::PodName& pod,
                                                 const std::string& sentence) {
            report(pod, "CannotStart", sentence);
          }};
}

Evictor::Parts App::card_evictor_parts() {
  return {.api = parts_.api,
          .clock = parts_.clock,
          .may_write = writes_of_the_leader(),
          .report = [report = reporter("Evict")](
                        const cluster::PodName& pod,
                        const std::string& sentence) { report(pod, "CardBroken", sentence); },
          .obstacle =
              [this](const EvictionCase& one) { return broken_card_pods_.obstacle(one, ledger_); },
          .evicted = [this](const EvictionCase& one) { broken_card_pods_.evicted(one); }};
}

Waker::Parts App::waker_parts() {
  return {.api = parts_.api,
          .clock = parts_.clock,
          .ledger = ledger_,
          .pods = pods_,
          .promises = promises_,
          .policies = policies_,
          .denials = denials_,
          .may_write = writes_of_the_leader(),
          .term = [this] { return term(); }};
}

CardPreemptor::Parts App::card_preemptor_parts() {
  return {.api = parts_.api,
          .clock = parts_.clock,
          .ledger = ledger_,
          .pods = pods_,
          .promises = promises_,
          .policies = policies_,
          .denials = denials_,
          .budgets = [this] { return budgets(); },
          .following = [this] { return following() && budget_reflector_.health().following; },
          .may_write = writes_of_the_leader(),
          .report = reporter("Preempt")};
}

Defragmenter::Parts App::defragmenter_parts() {
  return {.api = parts_.api,
          .clock = parts_.clock,
          .ledger = ledger_,
          .pods = pods_,
          .promises = promises_,
          .policies = policies_,
          .denials = denials_,
          .places = move_places_,
          .relocation = relocation_,
          .budgets = [this] { return budgets(); },
          .following = [this] { return following() && budget_reflector_.health().following; },
          .may_write = writes_of_the_leader(),
          .report = reporter("Move")};
}

ClusterMetrics::Parts App::metrics_parts() {
  return {.ledger = ledger_,
          .pods = pods_,
          .groups = pod_groups_,
          .policies = policies_,
          .feed_counters = counters_,
          .clock = parts_.clock,
          .nodes_watch = [this] { return node_reflector_.health(); },
          .pods_watch = [this] { return pod_reflector_.health(); },
          .grant_keys =
              [this] { return grant_keys_ ? grant_keys_->state() : kube::GrantKeys::State(); },
          .serving = [this] { return serving(); }};
}

Collectables App::collectables() const {
  return {&verb_routes_.metrics(), &admission_metrics_, &resizer_,         &evictor_,   &waker_,
          &card_evictor_,          &card_preemptor_,    &cluster_metrics_, &listeners_, &news_,
          &group_attempts_,        &defragmenter_};
}

App::~App() { stop(); }

/// @param aside  on a listener of their own
Serving App::serve_metrics(bool aside) {
  return [this, aside](http::PageQueue::Page page) {
    http::Handler handler = aside ? at_once(std::move(page)) : scrapes_.in_turn(std::move(page));
    return metrics_access_ ? metrics_access_->guarded(std::move(handler)) : handler;
  };
}

Result<void> App::listen(const config::Config& config) {
  const auto server = std::make_shared<http::Router>();
  const auto webhook = std::make_shared<http::Router>();
  const auto metrics = std::make_shared<http::Router>();
  const auto not_ready = [this]() -> std::string_view {
    return stopping_ ? "stopping" : synced() ? "" : "still reading the cluster";
  };
  verb_routes_.add_to(*server);
  add_page_routes(*server);
  add_api_routes(*server, {.ledger = ledger_,
                           .pods = pods_,
                           .policies = policies_,
                           .stream = news_,
                           .queue = pages_,
                           .synced = [this] { return synced(); },
                           .budgets =
                               [this, preempts = config.card_preemption.enabled] {
                                 return preempts ? budgets() : nullptr;
                               },
                           .groups = pod_groups_,
                           .room =
                               [this](std::string_view uid) {
                                 // Those of a replica that does not lead are not reviewed.
                                 return leads() ? promises_.room_of(uid) : std::nullopt;
                               }});
  add_admission_routes(*webhook, admission_);
  add_health_routes(*webhook, not_ready);
  const bool aside = config.metrics.listen.has_value();
  add_health_routes(aside ? *metrics : *server, not_ready);
  add_metrics_routes(aside ? *metrics : *server, ledger_, collectables(), serve_metrics(aside));
  if (parts_.more_routes) parts_.more_routes(*server);
  return listeners_.open(config, parts_.clock, server, webhook, metrics);
}

std::uint16_t App::port() const { return listeners_.port(); }
std::uint16_t App::webhook_port() const { return listeners_.webhook_port(); }
std::uint16_t App::metrics_port() const { return listeners_.metrics_port(); }

bool App::synced() const {
  return node_reflector_.health().synced && pod_reflector_.health().synced;
}

bool App::following() const {
  return node_reflector_.health().following && pod_reflector_.health().following;
}

std::shared_ptr<const cluster::BudgetList> App::budgets() const {
  return budget_reflector_.health().synced ? budgets_.all() : nullptr;
}

void App::examine_cards() {
  const cluster::ClusterPtr cluster = ledger_.snapshot();
  if (!synced() || cluster->version() == examined_version_) return;
  examined_version_ = cluster->version();
  pods_.set_card_notes(cluster::examine_cards(*cluster));
}

/// Other keys: grants that did not count may count now, and the other way round.
void App::reload_grant_keys() {
  if (grant_keys_ && grant_keys_->look()) pod_reflector_.relist();
}

void App::list_budgets_again() {
  if (budgets_.has_room_again()) budget_reflector_.relist_unless_asked();
}

std::uint64_t App::term() const { return leadership_ ? leadership_->term() : 1; }

void App::report_as_new_leader() {
  if (!serving() || term() == reported_term_) return;
  reported_term_ = term();
  pods_.notify_again();
}

void App::evict_stuck_pods() {
  if (!synced()) return;
  std::vector<EvictionCase> cases;
  for (cluster::StuckPod& stuck : cluster::stuck_pods(*ledger_.snapshot(), pods_.unstarted())) {
    cases.push_back({.pod = std::move(stuck.pod.pod),
                     .controller = std::move(stuck.pod.controller),
                     .why = "the pod cannot start: " + stuck.why});
  }
  evictor_.look(cases);
}

void App::evict_from_broken_cards() {
  if (!synced() || !following()) return;
  card_evictor_.look(broken_card_pods_.look(*ledger_.snapshot(), serving()));
}

bool App::may_write(milliseconds takes) const {
  return !leadership_ || leadership_->may_write(takes);
}

bool App::leads() const {
  return !stopping_ && (!leadership_ || leadership_->role() == Leadership::Role::kLeader);
}

std::string_view App::not_ready() const {
  if (stopping_) {
    return "this replica of tangram is stopping; try again, to reach the one that leads";
  }
  if (!synced()) return "tangram is still reading the cluster from the API server; try again";
  if (leads()) return "";
  return leadership_->role() == Leadership::Role::kTakingOver
             ? "this replica of tangram has just become the leader and is still reading the "
               "cluster; try again"
             : "this replica of tangram does not lead; try again, to reach the one that does";
}

void App::stop() {
  stopping_ = true;  // no bind begins from now on
  news_.close();
  // Before the port closes: meanwhile callers get an answer that sends them on, and another replica
  // leads while a slow client keeps this one from ending.
  if (leadership_) leadership_->stop();
  listeners_.stop();  // answers what is under way, binds included
  verb_routes_.drain();
  pages_.drain();
  scrapes_.drain();
  if (metrics_access_) metrics_access_->drain();
  pod_events_.flush(kFlushTimeout);
  background_.stop();
}

}  // namespace tangram::extender
