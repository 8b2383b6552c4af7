#include "bench/bench_app.hpp"
#include "bench/measure/latency.hpp"
#include "bench/measure/measure.hpp"
#include "extender/scheduling/wire.hpp"
#include "http/router.hpp"
#include "http/types.hpp"

#include <fmt/format.h>

#include <random>
#include <thread>

namespace tangram::bench {

namespace {

/// Handlers that decode a request and send the last reply of the verb.
struct Baseline {
  std::string reply;

  void add_routes(http::Router& router) {
    add_route(router, "/null/filter", extender::decode_filter_args);
    add_route(router, "/null/bind", extender::decode_bind_args);
  }

  template <class Decode>
  void add_route(http::Router& router, const char* path, Decode decode) {
    router.add("POST", path, [this, decode](http::Request request, http::Responder responder) {
      extender::Body body(std::move(request.body));
      responder.send(http::json_response(decode(body).has_value() ? reply : ""));
    });
  }
};

/// Ends running pods and begins others in their place, at an even rate, while it lives.
class Churn {
 public:
  Churn(SyntheticApi& api, int per_second) {
    if (per_second == 0 || api.size().pods == 0) return;
    thread_ = std::jthread([&api, per_second](const std::stop_token& stop) {
      std::minstd_rand random(1);
      std::map<int, int> generations;
      const auto pause = std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second;
      auto next = std::chrono::steady_clock::now();
      while (!stop.stop_requested()) {
        const int pod = static_cast<int>(random() % static_cast<unsigned>(api.size().pods));
        int& generation = generations[pod];
        api.pod_event("DELETED", api.running_pod(pod, generation));
        std::this_thread::sleep_until(next += pause);
        api.pod_event("ADDED", api.running_pod(pod, ++generation));
        std::this_thread::sleep_until(next += pause);
      }
    });
  }

 private:
  std::jthread thread_;
};

class VerbBench {
 public:
  VerbBench(const VerbRun& run, BenchApp& bench, Baseline& baseline)
      : run_(run), bench_(bench), baseline_(baseline) {}

  Result<void> round(int number, bool counts) {
    const bool unseen = number % 100 < run_.unseen_percent;
    const PendingPod pod = pending_pod(number, run_.shapes, unseen);
    bench_.arrive(pod);
    auto done = schedule(pod, counts, unseen ? new_filter_ : known_filter_);
    bench_.api().pod_event("DELETED", pod.json);
    return done;
  }

  [[nodiscard]] std::vector<VerbTimes> times() const {
    return {filter_, known_filter_, new_filter_, prioritize_, bind_};
  }
  [[nodiscard]] int unplaced() const { return unplaced_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  /// @param kind  times of filters of this kind alone
  Result<void> schedule(const PendingPod& pod, bool counts, VerbTimes& kind) {
    auto filtered = compare("/filter", "/null/filter",
                            filter_body(pod.json, bench_.api().node_names()), counts, filter_);
    if (!filtered) return filtered.error();
    if (counts) {
      kind.real.add(filter_.real.all().back());
      kind.null.add(filter_.null.all().back());
    }
    const auto kept = kept_of(*filtered);
    if (!kept) return kept.error();
    if (kept->empty()) {
      ++unplaced_;
      return {};
    }
    auto scores =
        compare("/prioritize", "/null/filter", filter_body(pod.json, *kept), counts, prioritize_);
    if (!scores) return scores.error();
    const ExtenderClient::PodName name{std::string(kBenchNamespace), pod.name, pod.uid};
    auto bound = compare("/bind", "/null/bind", bind_body(name, kept->front()), counts, bind_);
    if (!bound) return bound.error();
    if (*bound != R"({"Error":""})") ++refused_;  // a pod that began meanwhile took the room
    return {};
  }

  /// One request to the verb and the same one to the baseline.
  Result<std::string> compare(const char* verb, const char* null, const std::string& body,
                              bool counts, VerbTimes& times) {
    VerbTimes& into = counts ? times : warm_up_;
    auto reply = into.real.time([&] { return bench_.client().post(verb, body); });
    if (!reply) return reply;
    baseline_.reply = *reply;
    auto same = into.null.time([&] { return bench_.client().post(null, body); });
    if (!same) return same;
    if (*same != *reply) return fail(Errc::kConflict, "the baseline could not decode " + body);
    return reply;
  }

  static Result<std::vector<std::string>> kept_of(const std::string& reply) {
    auto filtered = decode_filter_reply(reply);
    if (!filtered) return filtered.error();
    if (!filtered->error.empty()) return fail(Errc::kConflict, filtered->error);
    return std::move(filtered->nodes);
  }

  const VerbRun& run_;
  BenchApp& bench_;
  Baseline& baseline_;
  VerbTimes filter_{"filter"};
  VerbTimes known_filter_{"filter seen"};
  VerbTimes new_filter_{"filter new"};
  VerbTimes prioritize_{"prioritize"};
  VerbTimes bind_{"bind"};
  VerbTimes warm_up_;  ///< not reported
  int unplaced_ = 0;
  int refused_ = 0;
};

}  // namespace

Result<Report> measure(const VerbRun& run) {
  Baseline baseline;
  auto bench =
      BenchApp::start({.size = run.size,
                       .policy = run.policy,
                       .short_list = run.short_list,
                       .more_routes = [&](http::Router& router) { baseline.add_routes(router); }});
  if (!bench) return bench.error();
  VerbBench verbs(run, **bench, baseline);
  const Churn churn((*bench)->api(), run.churn);
  const int warm_up = std::max(run.warm_up, run.shapes);
  for (int i = 0; i < warm_up + run.rounds; ++i) {
    if (auto done = verbs.round(i, i >= warm_up); !done) return done.error();
  }
  Report report{.text = latency_table(verbs.times()), .json = latency_json(verbs.times())};
  report.text +=
      fmt::format("of {} pods {} fitted no node, {} binds lost their room to another pod\n",
                  warm_up + run.rounds, verbs.unplaced(), verbs.refused());
  return report;
}

}  // namespace tangram::bench
