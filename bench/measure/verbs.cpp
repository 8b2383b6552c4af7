#include "bench/measure/verb_bench.hpp"
#include "bench/measure/wanted_pods.hpp"

#include <fmt/format.h>

#include <atomic>
#include <thread>

namespace tangram::bench {

namespace {

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
