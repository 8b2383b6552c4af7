#include "bench/replay/replay.hpp"

#include "bench/replay/checker.hpp"

#include <algorithm>
#include <chrono>

namespace tangram::bench {

namespace {

/// part * scale / whole, rounded half up.
std::int64_t scaled(std::int64_t part, std::int64_t whole, std::int64_t scale) {
  return whole == 0 ? 0 : (2 * scale * part + whole) / (2 * whole);
}

}  // namespace

std::size_t Outcome::placed() const {
  return static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(), [](const Step& step) { return step.placed.has_value(); }));
}

Result<Outcome> replay(const Trace& trace, Scheduler& scheduler, const Progress& progress) {
  PlacementChecker checker(trace.nodes);
  Outcome outcome;
  outcome.capacity_milli = trace.capacity_milli();
  outcome.steps.reserve(trace.arrivals.size());
  std::int64_t arrived = 0;
  std::chrono::steady_clock::duration placing{};
  for (std::size_t i = 0; i < trace.arrivals.size() && !outcome.violation; ++i) {
    const TracePod& pod = trace.arrivals[i];
    const auto feasible = checker.feasible(pod);
    const auto started_at = std::chrono::steady_clock::now();
    auto placed = scheduler.place(i, pod, feasible);
    placing += std::chrono::steady_clock::now() - started_at;
    if (!placed) return placed.error();
    if (const auto wrong = checker.record(pod, *placed)) {
      outcome.violation = "arrival " + std::to_string(i) + ", pod " + pod.name + " " + *wrong;
    }
    if (!*placed) {  // it is not tried again
      if (auto dropped = scheduler.remove(i); !dropped) return dropped.error();
    }
    arrived += pod.total_milli();
    outcome.steps.push_back({.placed = std::move(*placed),
                             .arrived_milli = arrived,
                             .allocated_milli = checker.allocated_milli()});
    if (progress) progress(i + 1);
  }
  outcome.seconds = std::chrono::duration<double>(placing).count();
  return outcome;
}

std::int64_t hundredths_of_percent(std::int64_t part, std::int64_t whole) {
  constexpr std::int64_t kHundredthsInWhole = 10'000;
  return scaled(part, whole, kHundredthsInWhole);
}

std::map<int, double> marks(const Outcome& outcome) {
  struct Sum {
    std::int64_t hundredths = 0;
    std::int64_t rows = 0;
  };
  std::map<int, Sum> sums;
  for (const Step& step : outcome.steps) {
    const auto k = static_cast<int>(scaled(step.arrived_milli, outcome.capacity_milli, 100));
    sums[k].hundredths += hundredths_of_percent(step.allocated_milli, outcome.capacity_milli);
    ++sums[k].rows;
  }
  std::map<int, double> means;
  for (const auto& [k, sum] : sums) {
    means[k] = static_cast<double>(sum.hundredths) / static_cast<double>(sum.rows) / 100.0;
  }
  return means;
}

}  // namespace tangram::bench
