#pragma once

#include "bench/bench_app.hpp"
#include "bench/measure/latency.hpp"
#include "bench/measure/measure.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tangram::bench {

/// What a null extender does: it reads the request by RapidJSON, and sends the last reply of the
/// verb.
struct Baseline {
  std::string reply;

  void add_routes(http::Router& router);
};

/// Begins pods beside running ones that they replace, and ends those, at an even rate, while it
/// lives. Only where there is room for both: if the old one ended first, a pod of the measurement
/// could take the room that the new one is granted. If such a pod is on that card already, the card
/// is granted twice for a moment; with many cards this is rare.
class Churn {
 public:
  /// @throws std::invalid_argument  no card has room for both
  Churn(SyntheticApi& api, int per_second);

 private:
  std::jthread thread_;
};

/// Schedules pending pods on an extender, one after the other, and keeps the times of each verb.
/// One thread.
class VerbBench {
 public:
  VerbBench(const VerbRun& run, BenchApp& bench, Baseline& baseline)
      : run_(run), bench_(bench), baseline_(baseline) {}

  /// A pod that arrives, is bound, and ends.
  Result<void> round(int number, bool counts);
  /// A pod that is only filtered, once, and ends.
  Result<void> hostile_round(int number, bool counts);

  [[nodiscard]] std::vector<VerbTimes> times() const {
    return {filter_, known_filter_, new_filter_, prioritize_, bind_};
  }
  [[nodiscard]] const VerbTimes& filter_times() const { return filter_; }
  [[nodiscard]] const VerbTimes& bind_times() const { return bind_; }
  [[nodiscard]] const VerbTimes& hostile_times() const { return hostile_filter_; }
  /// From a pod's creation until the extender knows it.
  [[nodiscard]] const Latencies& watch_lag() const { return watch_lag_; }
  [[nodiscard]] int unplaced() const { return unplaced_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  void arrive(const PendingPod& pod, bool counts);
  /// @param kind  times of filters of this kind alone
  Result<void> schedule(const PendingPod& pod, bool counts, VerbTimes& kind);
  /// One request to the verb and the same one to the baseline.
  Result<std::string> compare(const char* verb, const char* null, const std::string& body,
                              bool counts, VerbTimes& times);

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
  Latencies watch_lag_;
  int unplaced_ = 0;
  int refused_ = 0;
};

/// An extender with the measurement that runs on it.
struct Side {
  Baseline baseline;
  std::unique_ptr<BenchApp> app;
  std::optional<VerbBench> verbs;
  std::optional<Churn> churn;

  /// @param run  outlives the side
  Result<void> start(const VerbRun& run);
};

}  // namespace tangram::bench
