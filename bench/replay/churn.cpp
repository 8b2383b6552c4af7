#include "bench/replay/churn.hpp"

#include "base/json.hpp"
#include "bench/replay/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>
#include <queue>
#include <random>

namespace tangram::bench {

namespace {

constexpr double kMeanLifeMs = 3'600'000;
constexpr std::size_t kRounds = 4;
constexpr double kP95 = 0.95;

/// Written out, because the standard's distributions differ between libraries.
double exponential(std::mt19937_64& random, double mean) {
  constexpr double kSteps = 9007199254740992.0;  // 2^53: what a double holds
  const double uniform = (static_cast<double>(random() >> 11U) + 0.5) / kSteps;
  return -mean * std::log(uniform);
}

/// The cluster's state, from one event to the next.
class Churn {
 public:
  Churn(const Trace& trace, const std::vector<PodLifetime>& lifetimes, Scheduler& scheduler)
      : lifetimes_(lifetimes),
        scheduler_(scheduler),
        checker_(trace.nodes),
        capacity_(trace.capacity_milli()),
        ends_(lifetimes.empty() ? 0 : lifetimes.back().arrives),
        measured_from_(ends_ / 4) {}

  Result<ChurnOutcome> run() {
    for (std::size_t i = 0; i < lifetimes_.size() && !outcome_.violation; ++i) {
      while (!departures_.empty() && departures_.top().at <= lifetimes_[i].arrives &&
             !outcome_.violation) {
        if (auto left = depart_next(); !left) return left.error();
      }
      pass_time(lifetimes_[i].arrives);
      auto placed = place(i, checker_.feasible(lifetimes_[i].pod));
      if (!placed) return placed.error();
      if (*placed) continue;
      if (const auto wrong = checker_.record(lifetimes_[i].pod, std::nullopt)) {
        outcome_.violation = "arrival " + std::to_string(i) + " " + *wrong;
      }
      waiting_.push_back(i);
    }
    finish();
    return outcome_;
  }

 private:
  struct Departure {
    std::int64_t at = 0;
    std::size_t pod = 0;
    Placed placed = {};
    bool operator>(const Departure& other) const {
      return std::pair(at, pod) > std::pair(other.at, other.pod);
    }
  };

  void pass_time(std::int64_t until) {
    const std::int64_t from = std::max(now_, measured_from_);
    if (until > from) {
      const auto time = static_cast<double>(until - from);
      allocated_time_ += static_cast<double>(checker_.allocated_milli()) * time;
      waiting_time_ += static_cast<double>(waiting_.size()) * time;
    }
    now_ = until;
  }

  /// @returns whether it fits
  Result<bool> place(std::size_t i, const std::vector<std::size_t>& feasible) {
    const TracePod& pod = lifetimes_[i].pod;
    const auto started_at = std::chrono::steady_clock::now();
    auto placed = scheduler_.place(i, pod, feasible);
    placing_ += std::chrono::steady_clock::now() - started_at;
    if (!placed) return placed.error();
    if (!*placed) return false;
    if (const auto wrong = checker_.record(pod, *placed)) {
      outcome_.violation = "arrival " + std::to_string(i) + ", pod " + pod.name + " " + *wrong;
      return true;
    }
    waits_.push_back(now_ - lifetimes_[i].arrives);
    departures_.push({.at = now_ + lifetimes_[i].lasts, .pod = i, .placed = std::move(**placed)});
    return true;
  }

  Result<void> depart_next() {
    const Departure next = departures_.top();
    departures_.pop();
    pass_time(next.at);
    checker_.remove(lifetimes_[next.pod].pod, next.placed);
    if (auto left = scheduler_.remove(next.pod); !left) return left;
    return try_again_on(next.placed.node);
  }

  /// The waiting pods fitted no node, and only this node has changed since.
  Result<void> try_again_on(std::size_t node) {
    for (auto pod = waiting_.begin(); pod != waiting_.end();) {
      bool fits = false;
      if (checker_.host_fits(node, lifetimes_[*pod].pod)) {
        auto placed = place(*pod, {node});
        if (!placed) return placed.error();
        fits = *placed;
      }
      pod = fits ? waiting_.erase(pod) : std::next(pod);
    }
    return {};
  }

  void finish() {
    const auto time = static_cast<double>(std::max<std::int64_t>(1, now_ - measured_from_));
    outcome_.allocated_percent = 100 * allocated_time_ / time / static_cast<double>(capacity_);
    outcome_.waiting_pods = waiting_time_ / time;
    outcome_.placed = waits_.size();
    outcome_.never_placed = waiting_.size();
    outcome_.seconds = std::chrono::duration<double>(placing_).count();
    if (waits_.empty()) return;
    double sum = 0;
    for (const std::int64_t wait : waits_) sum += static_cast<double>(wait);
    outcome_.mean_wait_s = sum / static_cast<double>(waits_.size()) / 1000;
    std::sort(waits_.begin(), waits_.end());
    const auto late = static_cast<std::size_t>(kP95 * static_cast<double>(waits_.size() - 1));
    outcome_.p95_wait_s = static_cast<double>(waits_[late]) / 1000;
  }

  const std::vector<PodLifetime>& lifetimes_;
  Scheduler& scheduler_;
  PlacementChecker checker_;
  const std::int64_t capacity_;
  const std::int64_t ends_;
  const std::int64_t measured_from_;
  std::int64_t now_ = 0;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::list<std::size_t> waiting_;  ///< the oldest first
  std::vector<std::int64_t> waits_;
  double allocated_time_ = 0;  ///< milli x milliseconds
  double waiting_time_ = 0;    ///< pods x milliseconds
  std::chrono::steady_clock::duration placing_{};
  ChurnOutcome outcome_;
};

}  // namespace

std::vector<PodLifetime> lifetimes_of(const Trace& trace, const ChurnOptions& options) {
  std::vector<PodLifetime> lifetimes;
  if (trace.arrivals.empty()) return lifetimes;
  std::int64_t requested = 0;
  for (const TracePod& pod : trace.arrivals) requested += pod.total_milli();
  const double mean_milli =
      static_cast<double>(requested) / static_cast<double>(trace.arrivals.size());
  const double gap = 100 * mean_milli * kMeanLifeMs /
                     (options.load_percent * static_cast<double>(trace.capacity_milli()));
  std::mt19937_64 random(options.seed);
  // Pods with their own arrival times arrive once.
  const bool timed = trace.arrivals.front().arrives_s.has_value();
  const std::size_t count = timed               ? trace.arrivals.size()
                            : options.pods == 0 ? kRounds * trace.arrivals.size()
                                                : options.pods;
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TracePod& pod = trace.arrivals[i % trace.arrivals.size()];
    now += exponential(random, gap);
    const double lasts = exponential(random, kMeanLifeMs);
    lifetimes.push_back({.pod = pod,
                         .arrives = pod.arrives_s ? 1000 * *pod.arrives_s : std::llround(now),
                         .lasts = std::max<std::int64_t>(
                             1, pod.lasts_s ? 1000 * *pod.lasts_s : std::llround(lasts))});
  }
  std::stable_sort(
      lifetimes.begin(), lifetimes.end(),
      [](const PodLifetime& a, const PodLifetime& b) { return a.arrives < b.arrives; });
  return lifetimes;
}

Result<ChurnOutcome> churn(const Trace& trace, const std::vector<PodLifetime>& lifetimes,
                           Scheduler& scheduler) {
  return Churn(trace, lifetimes, scheduler).run();
}

std::string churn_text(const ChurnOutcome& outcome) {
  return fmt::format(
      "allocated   {:.2f} % of GPU time\n"
      "waiting     {:.2f} pods on average; a pod {:.2f} s, 95 % of them less than {:.2f} s\n"
      "placed      {}, still waiting {}\n"
      "placing     {:.2f} s\n"
      "rules       {}\n",
      outcome.allocated_percent, outcome.waiting_pods, outcome.mean_wait_s, outcome.p95_wait_s,
      outcome.placed, outcome.never_placed, outcome.seconds,
      outcome.violation ? "BROKEN: " + *outcome.violation : "kept");
}

std::string churn_json(const ChurnOutcome& outcome) {
  const auto number = [](double value) { return fmt::format("{:.2f}", value); };
  std::string text;
  json::Writer out(text);
  out.begin_object();
  out.key("allocated_percent").raw(number(outcome.allocated_percent));
  out.key("waiting_pods").raw(number(outcome.waiting_pods));
  out.key("mean_wait_seconds").raw(number(outcome.mean_wait_s));
  out.key("late_wait_seconds").raw(number(outcome.p95_wait_s));
  out.member("placed", static_cast<std::int64_t>(outcome.placed))
      .member("never_placed", static_cast<std::int64_t>(outcome.never_placed))
      .member("valid", !outcome.violation.has_value())
      .end_object();
  return text + "\n";
}

}  // namespace tangram::bench
