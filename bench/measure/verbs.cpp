#include "base/rapidjson.hpp"
#include "bench/bench_app.hpp"
#include "bench/measure/latency.hpp"
#include "bench/measure/measure.hpp"
#include "bench/measure/wanted_pods.hpp"
#include "http/router.hpp"
#include "http/types.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace tangram::bench {

namespace {

/// What a null extender does: it reads the request by RapidJSON, and sends the last reply of the
/// verb.
struct Baseline {
  std::string reply;

  void add_routes(http::Router& router) {
    for (const char* path : {"/null/filter", "/null/bind"}) {
      router.add("POST", path, [this](http::Request request, http::Responder responder) {
        rapidjson::Document document;
        document.ParseInsitu(request.body.data());
        responder.send(http::json_response(document.HasParseError() ? "" : reply));
      });
    }
  }
};

/// Ends running pods and begins others in their place, at an even rate, while it lives. One right
/// behind the other, or pods of the measurement would take the room that the next is granted.
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
        const std::string ended = api.running_pod(pod, generation);
        const std::string begun = api.running_pod(pod, ++generation);
        api.pod_event("DELETED", ended);
        api.pod_event("ADDED", begun);
        std::this_thread::sleep_until(next += 2 * pause);
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

  /// A pod that is only filtered, once, and ends.
  Result<void> hostile_round(int number, bool counts) {
    const PendingPod pod = hostile_pod(number);
    bench_.arrive(pod);
    auto filtered =
        compare("/filter", "/null/filter", filter_body(pod.json, bench_.api().node_names()), counts,
                hostile_filter_);
    bench_.api().pod_event("DELETED", pod.json);
    if (!filtered) return filtered.error();
    return {};
  }

  [[nodiscard]] std::vector<VerbTimes> times() const {
    return {filter_, known_filter_, new_filter_, prioritize_, bind_};
  }
  [[nodiscard]] const VerbTimes& filter_times() const { return filter_; }
  [[nodiscard]] const VerbTimes& hostile_times() const { return hostile_filter_; }
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
  VerbTimes hostile_filter_{"hostile"};
  VerbTimes warm_up_;  ///< not reported
  int unplaced_ = 0;
  int refused_ = 0;
};

/// An extender with the measurement that runs on it.
struct Side {
  Baseline baseline;
  std::unique_ptr<BenchApp> app;
  std::optional<VerbBench> verbs;
  std::optional<Churn> churn;

  Result<void> start(const VerbRun& run) {
    auto started = BenchApp::start(
        {.size = run.size,
         .policy = run.policy,
         .short_list = run.short_list,
         .more_routes = [this](http::Router& router) { baseline.add_routes(router); }});
    if (!started) return started.error();
    app = std::move(*started);
    verbs.emplace(run, *app, baseline);
    churn.emplace(app->api(), run.churn);
    return {};
  }
};

/// @returns the verbs' times on an extender that hostile pods come to as well; "beside" are the
///          filters of the others
Result<std::vector<VerbTimes>> with_hostile_pods(const VerbRun& run, Side& alone, int warm_up) {
  Side both;
  if (auto started = both.start(run); !started) return started.error();
  int hostile = 0;
  for (int i = 0; i < warm_up + run.rounds; ++i) {
    const bool counts = i >= warm_up;
    if (auto done = alone.verbs->round(i, counts); !done) return done.error();
    if (auto done = both.verbs->round(i, counts); !done) return done.error();
    for (; hostile < (i + 1) * run.hostile / 1'000; ++hostile) {
      if (auto done = both.verbs->hostile_round(hostile, counts); !done) return done.error();
    }
  }
  VerbTimes beside = both.verbs->filter_times();
  beside.verb = "beside";
  return std::vector<VerbTimes>{std::move(beside), both.verbs->hostile_times()};
}

/// Plans moves again and again while it is on.
class Planning {
 public:
  explicit Planning(const cluster::SharedLedger& ledger)
      : thread_([this, &ledger](const std::stop_token& stop) {
          const cluster::PolicySource policies({}, [&] { return ledger.snapshot(); });
          const WantedPods wanted(policies, 5);
          while (!stop.stop_requested()) {
            on_.wait(false);
            if (!stop.stop_requested()) (void)wanted.plan(*ledger.snapshot(), 10);
          }
        }) {}
  ~Planning() {
    thread_.request_stop();
    turn(true);
  }
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  void turn(bool on) {
    on_ = on;
    on_.notify_all();
  }

 private:
  std::atomic<bool> on_{false};
  std::jthread thread_;
};

/// @returns the filters of the blocks of rounds beside the planning thread
Result<std::vector<VerbTimes>> with_planning(const VerbRun& run, Side& side, int warm_up) {
  constexpr int kBlock = 50;
  VerbBench beside(run, *side.app, side.baseline);
  Planning planning(side.app->ledger());
  for (int i = 0; i < warm_up + 2 * run.rounds; ++i) {
    const bool plans = i >= warm_up && i / kBlock % 2 == 1;
    planning.turn(plans);
    VerbBench& verbs = plans ? beside : *side.verbs;
    if (auto done = verbs.round(i, i >= warm_up); !done) return done.error();
  }
  VerbTimes filters = beside.filter_times();
  filters.verb = "planning";
  return std::vector<VerbTimes>{std::move(filters)};
}

double millis(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

/// @param beside  as of with_hostile_pods()
std::string hostile_sentence(const VerbTimes& alone, const std::vector<VerbTimes>& beside) {
  const auto p99 = [](const VerbTimes& times) { return millis(times.real.percentile(99)); };
  const auto& hostile = beside.back().real.all();
  return fmt::format(
      "beside hostile pods the others' p99 is {:.2f} times as long ({:.2f} ms, {:.2f} without); "
      "the first hostile filter took {:.1f} ms, the longest {:.1f}\n",
      p99(beside.front()) / p99(alone), p99(beside.front()), p99(alone),
      hostile.empty() ? 0 : millis(hostile.front()), millis(beside.back().real.percentile(100)));
}

}  // namespace

Result<Report> measure(const VerbRun& run) {
  Side alone;
  if (auto started = alone.start(run); !started) return started.error();
  const int warm_up = std::max(run.warm_up, run.shapes);
  std::vector<VerbTimes> beside;
  if (run.hostile > 0 || run.planning) {
    auto measured =
        run.planning ? with_planning(run, alone, warm_up) : with_hostile_pods(run, alone, warm_up);
    if (!measured) return measured.error();
    beside = std::move(*measured);
  } else {
    for (int i = 0; i < warm_up + run.rounds; ++i) {
      if (auto done = alone.verbs->round(i, i >= warm_up); !done) return done.error();
    }
  }
  std::vector<VerbTimes> times = alone.verbs->times();
  times.insert(times.end(), beside.begin(), beside.end());
  Report report{.text = latency_table(times), .json = latency_json(times)};
  report.text +=
      fmt::format("of {} pods {} fitted no node, {} binds lost their room to another pod\n",
                  warm_up + run.rounds, alone.verbs->unplaced(), alone.verbs->refused());
  if (run.hostile > 0) report.text += hostile_sentence(alone.verbs->filter_times(), beside);
  return report;
}

}  // namespace tangram::bench
