#include "extender/scheduling/routes.hpp"

#include "base/metric_family.hpp"
#include "extender/scheduling/wire.hpp"

#include <memory>
#include <utility>

namespace tangram::extender {

namespace {

constexpr std::string_view kTooManyBinds =
    "too many binds are under way; the API server may be slow; try again";

}  // namespace

std::string_view to_string(Verb verb) {
  constexpr std::array<std::string_view, kVerbs> kNames{"filter", "prioritize", "bind", "preempt"};
  return kNames.at(static_cast<std::size_t>(verb));
}

/// All series are made here, so that they are there from the first scrape on.
VerbMetrics::VerbMetrics() {
  auto& durations = prometheus::BuildHistogram()
                        .Name("tangram_extender_request_duration_seconds")
                        .Help("Time to answer a request of kube-scheduler, by verb.")
                        .Register(registry_);
  auto& results = prometheus::BuildCounter()
                      .Name("tangram_binds_total")
                      .Help("Bind requests answered, by result.")
                      .Register(registry_);
  for (std::size_t i = 0; i < kVerbs; ++i) {
    const std::string verb(to_string(static_cast<Verb>(i)));
    durations_.at(i) = &durations.Add({{"verb", verb}}, latency_buckets());
  }
  for (std::size_t i = 0; i < kBindOutcomes; ++i) {
    const std::string result(to_string(static_cast<BindOutcome>(i)));
    binds_.at(i) = &results.Add({{"result", result}});
  }
}

void VerbMetrics::request_done(Verb verb, std::chrono::nanoseconds took) {
  durations_.at(static_cast<std::size_t>(verb))
      ->Observe(std::chrono::duration<double>(took).count());
}

void VerbMetrics::bind_done(BindOutcome outcome) {
  binds_.at(static_cast<std::size_t>(outcome))->Increment();
}

VerbRoutes::VerbRoutes(Settings settings, const Parts& parts)
    : settings_(settings),
      verbs_(parts.verbs),
      clock_(parts.clock),
      leads_(parts.leads),
      not_ready_(parts.not_ready),
      binds_(settings.bind_workers, settings.bind_queue) {}

void VerbRoutes::add_to(http::Router& router) {
  const auto add = [this, &router](const char* path, Verb verb, auto answer) {
    router.add("POST", path,
               [this, verb, answer](http::Request request, http::Responder responder) {
                 const TimePoint start = clock_.now();
                 responder.send(response((verbs_.*answer)(std::move(request.body))));
                 metrics_.request_done(verb, clock_.now() - start);
               });
  };
  add("/filter", Verb::kFilter, &Verbs::filter);
  add("/prioritize", Verb::kPrioritize, &Verbs::prioritize);
  add("/preempt", Verb::kPreempt, &Verbs::preempt);
  router.add("POST", "/bind", [this](http::Request request, http::Responder responder) {
    bind(std::move(request), std::move(responder));
  });
}

void VerbRoutes::refuse_bind(http::Responder& responder, std::string_view why) {
  metrics_.bind_done(BindOutcome::kUnavailable);
  responder.send(response(encode_bind_result(why)));
}

void VerbRoutes::bind(http::Request request, http::Responder responder) {
  if (const auto why = not_ready_(); !why.empty()) return refuse_bind(responder, why);
  struct Task {
    std::string body;
    http::Responder responder;
    TimePoint start;
    TimePoint deadline;
  };
  // Shared, because the queue's tasks are copyable.
  const TimePoint now = clock_.now();
  auto task = std::make_shared<Task>(
      Task{std::move(request.body), std::move(responder), now, now + settings_.bind_timeout});
  const bool taken = binds_.try_post([this, task] {
    // kube-scheduler has given up on a bind that waited so long for a worker.
    const bool stale = clock_.now() > task->deadline;
    Verbs::BindReply reply =
        stale ? Verbs::BindReply{encode_bind_result(kTooManyBinds), BindOutcome::kUnavailable}
              : verbs_.bind(std::move(task->body), task->deadline);
    metrics_.bind_done(reply.outcome);
    task->responder.send(response(std::move(reply.body)));
    metrics_.request_done(Verb::kBind, clock_.now() - task->start);
  });
  if (!taken) refuse_bind(task->responder, kTooManyBinds);
}

http::Response VerbRoutes::response(std::string body) const {
  http::Response response = http::json_response(std::move(body));
  response.close = !leads_();
  return response;
}

}  // namespace tangram::extender
