#include "extender/app.hpp"

#include "cluster/card_metrics.hpp"
#include "cluster/idle.hpp"
#include "extender/admission/routes.hpp"
#include "extender/page/api_routes.hpp"
#include "extender/page/page_routes.hpp"
#include "http/router.hpp"
#include "policies/trace_pods.hpp"

#include <spdlog/spdlog.h>

#include <array>
#include <chrono>

namespace tangram::extender {

namespace {

using std::chrono::milliseconds;

/// How often bookings that were never confirmed are looked for; their time-outs are seconds.
constexpr milliseconds kResolveInterval{1'000};

/// client-go waits up to 30 s for a server that was away; here no pod gets its card meanwhile, and
/// three watches of a replica or two are little load.
constexpr milliseconds kLongestWatchBackoff{5'000};

/// For events that are still to be written when the service stops.
constexpr milliseconds kLastWords{2'000};

constexpr std::string_view kTooManyBinds =
    "too many binds are under way; the API server may be slow; try again";

Result<cluster::PolicySettings> policy_settings(
    const config::Config& config, std::shared_ptr<const policies::Workload> workload) {
  cluster::PolicySettings settings{
      .default_policy = config.scheduler.policy,
      .default_isolation = config.scheduler.default_isolation,
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
    settings.options.workload = std::make_shared<const policies::Workload>(
        policies::workload_of(*pods, settings.default_isolation, settings.coverage_percent));
  }
  if (auto policy = policies::make_policy(settings.default_policy, settings.options); !policy) {
    return fail(Errc::kInvalidArgument, "scheduler.policy: " + policy.error().message);
  }
  return settings;
}

kube::ReflectorOptions pods_to_watch(const config::Config& config) {
  return {.path = "/api/v1/pods",
          // kube-scheduler's own rule of which pods take up room.
          .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
          .page_size = config.kube.page_size,
          .max_backoff = kLongestWatchBackoff};
}

kube::ReflectorOptions nodes_to_watch(const config::Config& config) {
  return {.path = "/api/v1/nodes",
          .field_selector = "",
          .page_size = config.kube.page_size,
          .max_backoff = kLongestWatchBackoff};
}

kube::ReflectorOptions budgets_to_watch(const config::Config& config) {
  return {.path = "/apis/policy/v1/poddisruptionbudgets",
          .field_selector = "",
          .page_size = config.kube.page_size,
          .max_backoff = kLongestWatchBackoff};
}

/// For a page of a listener whose threads do nothing else.
http::Handler at_once(PageQueue::Page page) {
  return [page = std::move(page)](const http::Request& request, http::Responder responder) {
    responder.send(page(request));
  };
}

http::Response exposition_page() {
  http::Response page;
  page.content_type = "text/plain; version=0.0.4; charset=utf-8";
  page.gzip = true;
  return page;
}

Result<std::unique_ptr<kube::GrantKeys>> open_grant_keys(const config::Config::Grants& settings) {
  if (settings.public_keys.empty()) return std::unique_ptr<kube::GrantKeys>();
  return kube::GrantKeys::open({.signing = settings.signing_key, .known = settings.public_keys});
}

double seconds_since(TimePoint then, TimePoint now) {
  return std::chrono::duration<double>(now - then).count();
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
  App* const self = app.get();
  app->node_thread_ =
      std::jthread([self](const std::stop_token& stop) { self->node_reflector_.run(stop); });
  app->pod_thread_ =
      std::jthread([self](const std::stop_token& stop) { self->pod_reflector_.run(stop); });
  app->budget_thread_ =
      std::jthread([self](const std::stop_token& stop) { self->budget_reflector_.run(stop); });
  if (!parts.learn_at_once) {
    app->learn_thread_ =
        std::jthread([self](const std::stop_token& stop) { self->policies_.keep_learning(stop); });
  }
  app->resolve_thread_ = std::jthread([self](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      self->look_at_grant_keys();  // first: settling waits for the API server
      self->binder_.resolve_overdue(stop);
      self->look_at_cards();
      self->waiting_.forget_strangers();
      self->tell_as_new_leader();
      self->evict_stuck_pods();
      sleep_until_stopped(kResolveInterval, stop);
    }
  });
  app->news_thread_ = std::jthread([self](const std::stop_token& stop) { self->news_.run(stop); });
  if (app->leadership_) app->leadership_->start();
  return app;
}

Result<void> App::join_election(const config::Config& config) {
  if (!*parts_.replica) return {};
  auto leadership = Leadership::create(config.leader_election, **parts_.replica,
                                       {.api = parts_.api,
                                        .clock = parts_.clock,
                                        .nodes = node_reflector_,
                                        .pods = pod_reflector_,
                                        .finish = [this] { bind_queue_.wait_until_idle(); },
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
      offers_(parts.clock, static_cast<std::size_t>(config.scheduler.offer_memory_pods),
              config.scheduler.offer_penalty),
      binder_(
          {.api = parts.api,
           .ledger = ledger_,
           .pending = pending_,
           .offers = offers_,
           .policies = policies_,
           .clock = parts.clock,
           .may_write = [this](milliseconds takes) { return may_write(takes); },
           .sign = grant_keys_ ? [this](std::string_view text) { return grant_keys_->sign(text); }
                               : model::Signer(),
           .check = check_},
          {.api_timeout = config.bind.timeout, .assume_ttl = config.scheduler.assume_ttl}),
      admission_(admission_settings(config), parts.clock,
                 [this](const AdmissionService::Done& done) { metrics_.admission_done(done); }),
      verbs_({.ledger = ledger_,
              .policies = policies_,
              .offers = offers_,
              .binder = binder_,
              .pending = pending_,
              .budgets =
                  [this] { return budget_reflector_.health().synced ? budgets_.all() : nullptr; },
              .not_ready = [this] { return not_ready(); },
              .told = [this](std::string_view uid, Wait wait) { waiting_.told(uid, wait); }},
             {.short_list = static_cast<std::size_t>(config.scheduler.short_list),
              .hold_ttl = config.scheduler.hold_ttl}),
      evictor_(
          {.enabled = config.eviction.enabled,
           .after = config.eviction.after,
           .per_minute = config.eviction.per_minute,
           .api_timeout = config.bind.timeout},
          {.api = parts.api,
           .clock = parts.clock,
           .may_write = [this](milliseconds takes) { return serving() && may_write(takes); },
           .tell =
               [this](const cluster::PodName& pod, const std::string& sentence) {
                 tell(pod, "CannotStart", "Evict", sentence);
               },
           .done = [this](kube::EvictionOutcome outcome) { metrics_.eviction_done(outcome); }}),
      node_feed_(ledger_, counters_),
      pod_feed_(ledger_, pending_, counters_,
                {.listing = [this](bool begins) { policies_.listing(begins); },
                 .arrived = [this](const kube::Pod& pod) { policies_.arrived(pod); },
                 .seen =
                     [this](const kube::Pod& pod, const cluster::Recorded& recorded) {
                       const auto plan = policies_.plan(pod);
                       findings_.set(pod, cluster::examine(pod, plan, recorded));
                       waiting_.seen(pod, plan);
                       unstarted_.set(pod, recorded);
                       grant_key_use_.set(pod.uid, recorded.grant_key);
                     },
                 .ended =
                     [this](std::string_view uid) {
                       findings_.forget(uid);
                       unstarted_.forget(uid);
                       waiting_.forget(uid);
                       grant_key_use_.forget(uid);
                     }},
                check_),
      node_reflector_(parts.api, nodes_to_watch(config), node_feed_, parts.clock),
      pod_reflector_(parts.api, pods_to_watch(config), pod_feed_, parts.clock),
      budget_reflector_(parts.api, budgets_to_watch(config), budgets_, parts.clock),
      bind_timeout_(config.bind.timeout),
      bind_queue_(static_cast<std::size_t>(config.bind.workers),
                  static_cast<std::size_t>(config.bind.queue)),
      news_({.ledger = ledger_, .pending = pending_, .clock = parts.clock}) {
  if (parts.reporter) {
    events_ = std::make_unique<kube::EventRecorder>(parts.api, *parts.reporter, parts.clock);
  }
}

App::~App() { stop(); }

Result<void> App::listen(const config::Config& config) {
  const auto server = std::make_shared<http::Router>();
  const auto webhook = std::make_shared<http::Router>();
  const auto metrics = std::make_shared<http::Router>();
  serve_verbs(*server);
  serve_pages(*server);
  serve_webhook(*webhook);
  const bool aside = config.metrics.listen.has_value();
  serve_health(aside ? *metrics : *server);
  if (aside) {
    serve_metrics(*metrics, at_once);
  } else {
    serve_metrics(*server,
                  [this](PageQueue::Page page) { return scrapes_.in_turn(std::move(page)); });
  }
  if (parts_.more_routes) parts_.more_routes(*server);
  return listeners_.open(config, parts_.clock, server, webhook, metrics);
}

std::uint16_t App::port() const { return listeners_.port(); }
std::uint16_t App::webhook_port() const { return listeners_.webhook_port(); }
std::uint16_t App::metrics_port() const { return listeners_.metrics_port(); }

bool App::synced() const {
  return node_reflector_.health().synced && pod_reflector_.health().synced;
}

void App::look_at_cards() {
  const cluster::ClusterPtr cluster = ledger_.snapshot();
  if (!synced() || cluster->version() == looked_at_) return;
  looked_at_ = cluster->version();
  findings_.set_cards(cluster::examine_cards(*cluster));
}

/// Other keys: grants that did not count may count now, and the other way round.
void App::look_at_grant_keys() {
  if (grant_keys_ && grant_keys_->look()) pod_reflector_.relist();
}

void App::tell_as_new_leader() {
  const std::uint64_t term = leadership_ ? leadership_->term() : 1;
  if (!serving() || term == told_in_term_) return;
  told_in_term_ = term;
  findings_.tell_all();
}

void App::tell(const cluster::PodName& pod, const cluster::Note& note) {
  // Followers see the same; one voice is enough.
  if (!serving()) return;
  tell(pod, to_string(note.finding), "Examine", note.sentence);
}

void App::evict_stuck_pods() {
  if (synced()) evictor_.look(cluster::stuck_pods(*ledger_.snapshot(), unstarted_.all()));
}

void App::tell(const cluster::PodName& pod, std::string_view reason, std::string_view action,
               const std::string& sentence) {
  spdlog::warn("pod {}/{}: {}: {}", pod.ns, pod.name, reason, sentence);
  if (!events_) return;
  events_->record({.kind = "Pod",
                   .ns = pod.ns,
                   .name = pod.name,
                   .uid = pod.uid,
                   .type = kube::EventNote::Type::kWarning,
                   .reason = std::string(reason),
                   .action = std::string(action),
                   .note = sentence});
}

bool App::may_write(milliseconds takes) const {
  return !leadership_ || leadership_->may_write(takes);
}

bool App::leads() const { return !leadership_ || leadership_->role() == Leadership::Role::kLeader; }

std::string_view App::not_ready() const {
  if (!synced()) return "tangram is still reading the cluster from the API server; try again";
  if (leads()) return "";
  return leadership_->role() == Leadership::Role::kTakingOver
             ? "this replica of tangram leads since a moment and reads the cluster anew; try again"
             : "this replica of tangram does not lead; try again, to reach the one that does";
}

void App::stop() {
  stopping_ = true;
  news_.close();
  listeners_.stop();  // answers what is under way, binds included
  if (leadership_) leadership_->stop();
  bind_queue_.drain();
  pages_.drain();
  scrapes_.drain();
  if (events_) events_->flush(kLastWords);
  const std::array threads{&node_thread_,    &pod_thread_,   &budget_thread_,
                           &resolve_thread_, &learn_thread_, &news_thread_};
  for (std::jthread* thread : threads) thread->request_stop();
  for (std::jthread* thread : threads) {
    if (thread->joinable()) thread->join();
  }
}

void App::serve_verbs(http::Router& router) {
  const auto timed = [this, &router](const char* path, Verb verb, auto answer) {
    router.add("POST", path,
               [this, verb, answer](http::Request request, http::Responder responder) {
                 const TimePoint start = parts_.clock.now();
                 responder.send(verb_response(answer(std::move(request.body))));
                 metrics_.request_done(verb, parts_.clock.now() - start);
               });
  };
  timed("/filter", Verb::kFilter,
        [this](std::string body) { return verbs_.filter(std::move(body)); });
  timed("/prioritize", Verb::kPrioritize,
        [this](std::string body) { return verbs_.prioritize(std::move(body)); });
  timed("/preempt", Verb::kPreempt,
        [this](std::string body) { return verbs_.preempt(std::move(body)); });
  router.add("POST", "/bind", [this](http::Request request, http::Responder responder) {
    bind(std::move(request), std::move(responder));
  });
}

/// Binds wait for the API server, so they leave the io thread to others.
void App::bind(http::Request request, http::Responder responder) {
  struct Task {
    std::string body;
    http::Responder responder;
    TimePoint start;
  };
  // Shared, because the queue's tasks are copyable.
  auto task = std::make_shared<Task>(
      Task{std::move(request.body), std::move(responder), parts_.clock.now()});
  const bool taken = bind_queue_.try_post([this, task] {
    // kube-scheduler has given up on a bind that waited so long for a worker.
    const bool stale = parts_.clock.now() - task->start > bind_timeout_;
    Verbs::BindReply reply =
        stale ? Verbs::BindReply{encode_bind_result(kTooManyBinds), BindOutcome::kUnavailable}
              : verbs_.bind(std::move(task->body));
    metrics_.bind_done(reply.outcome);
    task->responder.send(verb_response(std::move(reply.body)));
    metrics_.request_done(Verb::kBind, parts_.clock.now() - task->start);
  });
  if (taken) return;
  metrics_.bind_done(BindOutcome::kUnavailable);
  task->responder.send(verb_response(encode_bind_result(kTooManyBinds)));
}

http::Response App::verb_response(std::string body) const {
  http::Response response = http::json_response(std::move(body));
  // So that a scheduler's open connection does not keep it with a replica that leads no more.
  response.close = !leads();
  return response;
}

/// What the API server asks of the admission webhook.
void App::serve_webhook(http::Router& router) {
  serve_health(router);
  add_admission_routes(router, admission_);
}

void App::serve_health(http::Router& router) {
  router.add("GET", "/healthz", [](const http::Request&, http::Responder responder) {
    responder.send(http::text_response(200, "ok"));
  });
  router.add("GET", "/readyz", [this](const http::Request&, http::Responder responder) {
    if (stopping_) return responder.send(http::text_response(503, "stopping"));
    if (!synced()) return responder.send(http::text_response(503, "still reading the cluster"));
    responder.send(http::text_response(200, "ok"));
  });
}

void App::serve_metrics(http::Router& router, const Serving& serving) {
  router.add("GET", "/metrics", serving([this](const http::Request&) {
               http::Response page = exposition_page();
               page.body = metrics_.text(gauges());
               return page;
             }));
  router.add("GET", "/metrics/cards", serving([this](const http::Request&) {
               auto cards = std::make_shared<cluster::CardMetrics>(ledger_.snapshot());
               http::Response page = exposition_page();
               page.producer = [cards](std::string& out) { return cards->next(out); };
               return page;
             }));
}

void App::serve_pages(http::Router& router) {
  add_page_routes(router);
  add_api_routes(router, {.ledger = ledger_,
                          .pending = pending_,
                          .policies = policies_,
                          .findings = findings_,
                          .news = news_,
                          .queue = pages_,
                          .synced = [this] { return synced(); }});
}

Gauges App::gauges() {
  const cluster::ClusterPtr cluster = ledger_.snapshot();
  const cluster::Idle idle = cluster::measure_idle(*cluster, *policies_.workload());
  const TimePoint now = parts_.clock.now();
  Gauges gauges;
  gauges.nodes = cluster->node_count();
  gauges.cards = idle.cards;
  gauges.pending_pods = pending_.size();
  ledger_.apply([&](model::Ledger& ledger) {
    gauges.bound_pods = ledger.pod_count();
    gauges.assumed_pods = ledger.assumed_count();
    gauges.held_pods = ledger.reserved_count();
  });
  gauges.fragmentation_ratio = idle.idle > 0 ? idle.fragmented / idle.idle : 0;
  gauges.stranded_memory = idle.stranded;
  gauges.over_granted_cards = idle.over_granted;
  gauges.stray_grants = idle.stray_grants;
  gauges.waiting = waiting_.counts();
  gauges.findings = findings_.counts();
  gauges.nodes_watch_lag_seconds = seconds_since(node_reflector_.health().last_heard, now);
  gauges.pods_watch_lag_seconds = seconds_since(pod_reflector_.health().last_heard, now);
  gauges.leader = synced() && leads();
  gauges.streams = news_.counts();
  gauges.bad_objects = counters_.bad_objects;
  gauges.bad_cards = counters_.bad_cards;
  gauges.bad_grants = counters_.bad_grants;
  gauges.grants_by_key = grant_key_use_.counts();
  if (grant_keys_) {
    auto keys = grant_keys_->state();
    gauges.grant_keys_known = std::move(keys.known);
    gauges.grant_keys_stale = keys.stale;
  }
  for (const auto& [name, http, tls] : listeners_.status()) {
    ListenerGauges& listener = gauges.listeners[std::string(name)];
    listener.http = http;
    if (tls) listener.certificate_expires = tls->expires;
    if (tls) listener.reload_failures = tls->failures;
  }
  return gauges;
}

}  // namespace tangram::extender
