#include "bench/replay/churn.hpp"

#include "base/json.hpp"
#include "bench/replay/judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <list>
#include <queue>
#include <random>
#include <sstream>

namespace tangram::bench {

namespace {

constexpr double kMeanLifeMs = 3'600'000;
constexpr std::size_t kRounds = 4;
constexpr double kLate = 0.95;

/// Written out, because the standard's distributions differ between libraries.
double exponential(std::mt19937_64& random, double mean) {
  constexpr double kSteps = 9007199254740992.0;  // 2^53: what a double holds
  const double uniform = (static_cast<double>(random() >> 11U) + 0.5) / kSteps;
  return -mean * std::log(uniform);
}

/// What is going on in the cluster, from one event to the next.
class Churn {
 public:
  Churn(const Trace& trace, const std::vector<Stay>& stays, Placer& placer)
      : stays_(stays),
        placer_(placer),
        judge_(trace.nodes),
        capacity_(trace.capacity_milli()),
        ends_(stays.empty() ? 0 : stays.back().arrives),
        measured_from_(ends_ / 4) {}

  Result<ChurnOutcome> run() {
    for (std::size_t i = 0; i < stays_.size() && !outcome_.violation; ++i) {
      while (!leaving_.empty() && leaving_.top().at <= stays_[i].arrives && !outcome_.violation) {
        if (auto left = next_leaves(); !left) return left.error();
      }
      pass_time(stays_[i].arrives);
      auto placed = place(i, judge_.feasible(stays_[i].pod));
      if (!placed) return placed.error();
      if (*placed) continue;
      if (const auto wrong = judge_.judge(stays_[i].pod, std::nullopt)) {
        outcome_.violation = "arrival " + std::to_string(i) + " " + *wrong;
      }
      waiting_.push_back(i);
    }
    finish();
    return outcome_;
  }

 private:
  struct Leaving {
    std::int64_t at = 0;
    std::size_t pod = 0;
    Placed placed = {};
    bool operator>(const Leaving& other) const {
      return std::pair(at, pod) > std::pair(other.at, other.pod);
    }
  };

  void pass_time(std::int64_t until) {
    const std::int64_t from = std::max(now_, measured_from_);
    if (until > from) {
      const auto time = static_cast<double>(until - from);
      allocated_time_ += static_cast<double>(judge_.allocated_milli()) * time;
      waiting_time_ += static_cast<double>(waiting_.size()) * time;
    }
    now_ = until;
  }

  /// @returns whether it fits
  Result<bool> place(std::size_t i, const std::vector<std::size_t>& feasible) {
    const TracePod& pod = stays_[i].pod;
    const auto asked_at = std::chrono::steady_clock::now();
    auto placed = placer_.place(i, pod, feasible);
    placing_ += std::chrono::steady_clock::now() - asked_at;
    if (!placed) return placed.error();
    if (!*placed) return false;
    if (const auto wrong = judge_.judge(pod, *placed)) {
      outcome_.violation = "arrival " + std::to_string(i) + ", pod " + pod.name + " " + *wrong;
      return true;
    }
    waits_.push_back(now_ - stays_[i].arrives);
    leaving_.push({.at = now_ + stays_[i].lasts, .pod = i, .placed = std::move(**placed)});
    return true;
  }

  Result<void> next_leaves() {
    const Leaving next = leaving_.top();
    leaving_.pop();
    pass_time(next.at);
    judge_.leave(stays_[next.pod].pod, next.placed);
    if (auto left = placer_.leave(next.pod); !left) return left;
    return try_again_on(next.placed.node);
  }

  /// Nothing else changed since the waiting pods were refused, so nowhere else can they fit.
  Result<void> try_again_on(std::size_t node) {
    for (auto pod = waiting_.begin(); pod != waiting_.end();) {
      bool fits = false;
      if (judge_.host_fits(node, stays_[*pod].pod)) {
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
    const auto late = static_cast<std::size_t>(kLate * static_cast<double>(waits_.size() - 1));
    outcome_.late_wait_s = static_cast<double>(waits_[late]) / 1000;
  }

  const std::vector<Stay>& stays_;
  Placer& placer_;
  Judge judge_;
  const std::int64_t capacity_;
  const std::int64_t ends_;
  const std::int64_t measured_from_;
  std::int64_t now_ = 0;
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving_;
  std::list<std::size_t> waiting_;  ///< the oldest first
  std::vector<std::int64_t> waits_;
  double allocated_time_ = 0;  ///< milli x milliseconds
  double waiting_time_ = 0;    ///< pods x milliseconds
  std::chrono::steady_clock::duration placing_{};
  ChurnOutcome outcome_;
};

}  // namespace

std::vector<Stay> stays_of(const Trace& trace, const ChurnOptions& options) {
  std::vector<Stay> stays;
  if (trace.arrivals.empty()) return stays;
  std::int64_t asked = 0;
  for (const TracePod& pod : trace.arrivals) asked += pod.total_milli();
  const double mean_milli = static_cast<double>(asked) / static_cast<double>(trace.arrivals.size());
  const double gap = 100 * mean_milli * kMeanLifeMs /
                     (options.load_percent * static_cast<double>(trace.capacity_milli()));
  std::mt19937_64 random(options.seed);
  // Over and over makes no sense of pods that come at a time of their own.
  const bool timed = trace.arrivals.front().arrives_s.has_value();
  const std::size_t count = timed               ? trace.arrivals.size()
                            : options.pods == 0 ? kRounds * trace.arrivals.size()
                                                : options.pods;
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const TracePod& pod = trace.arrivals[i % trace.arrivals.size()];
    now += exponential(random, gap);
    const double lasts = exponential(random, kMeanLifeMs);
    stays.push_back({.pod = pod,
                     .arrives = pod.arrives_s ? 1000 * *pod.arrives_s : std::llround(now),
                     .lasts = std::max<std::int64_t>(
                         1, pod.lasts_s ? 1000 * *pod.lasts_s : std::llround(lasts))});
  }
  std::stable_sort(stays.begin(), stays.end(),
                   [](const Stay& a, const Stay& b) { return a.arrives < b.arrives; });
  return stays;
}

Result<ChurnOutcome> churn(const Trace& trace, const std::vector<Stay>& stays, Placer& placer) {
  return Churn(trace, stays, placer).run();
}

std::string churn_text(const ChurnOutcome& outcome) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << "allocated   " << outcome.allocated_percent
      << " % of GPU time\nwaiting     " << outcome.waiting_pods << " pods on average; a pod "
      << outcome.mean_wait_s << " s, 95 % of them less than " << outcome.late_wait_s
      << " s\nplaced      " << outcome.placed << ", still waiting " << outcome.never_placed
      << "\nplacing     " << outcome.seconds << " s\nrules       "
      << (outcome.violation ? "BROKEN: " + *outcome.violation : "kept") << "\n";
  return out.str();
}

std::string churn_json(const ChurnOutcome& outcome) {
  const auto number = [](double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << value;
    return text.str();
  };
  std::string text;
  json::Writer out(text);
  out.begin_object();
  out.key("allocated_percent").raw(number(outcome.allocated_percent));
  out.key("waiting_pods").raw(number(outcome.waiting_pods));
  out.key("mean_wait_seconds").raw(number(outcome.mean_wait_s));
  out.key("late_wait_seconds").raw(number(outcome.late_wait_s));
  out.member("placed", static_cast<std::int64_t>(outcome.placed))
      .member("never_placed", static_cast<std::int64_t>(outcome.never_placed))
      .member("valid", !outcome.violation.has_value())
      .end_object();
  return text + "\n";
}

}  // namespace tangram::bench
