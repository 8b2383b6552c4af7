#pragma once

#include "base/result.hpp"
#include "bench/replay/arrivals.hpp"
#include "bench/replay/failures.hpp"
#include "bench/replay/move_planner.hpp"
#include "bench/replay/scheduler.hpp"
#include "bench/replay/timeline.hpp"
#include "bench/replay/work.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// What happens, whatever the scheduler does.
struct Events {
  std::vector<Arrival> arrivals;  ///< in order of time
  std::vector<Failure> failures;  ///< the same
};

struct SimulationOptions {
  RestartCost restart;
  double move_percent = 1;               ///< of the running pods that may be moved in an hour
  std::int64_t move_interval = 300'000;  ///< milliseconds between looks for moves
};

/// Of the pods of one class that arrived after the warm-up.
struct ClassOutcome {
  /// Time without a place: until the first one, and after evictions. Pods that still wait at the
  /// end count with their wait so far.
  WaitStatistics wait;
  double mean_overhead_s = 0;  ///< restarts: see Work::overhead()
  std::size_t evicted = 0;     ///< evictions, for other pods and by failures
  std::size_t moved = 0;       ///< moves
  std::size_t never_placed = 0;
};

/// The results. Times are of the simulation, but for those of work that was really done.
struct SimulationOutcome {
  std::int64_t capacity_milli = 0;
  std::int64_t cards = 0;
  std::int64_t ends = 0;               ///< milliseconds: the last arrival
  Levels<double> mean;                 ///< after the warm-up
  std::vector<Levels<double>> series;  ///< over the whole time
  ByClass<ClassOutcome> classes;
  ClassOutcome all;

  // Of all pods. Each arrived, and has ended, or runs, or waits.
  std::size_t arrived = 0;
  std::size_t ended = 0;
  std::size_t running = 0;
  std::size_t waiting = 0;

  std::size_t preempted = 0;  ///< evictions for urgent pods
  std::size_t failed = 0;     ///< evictions by failures
  std::size_t moves = 0;
  std::size_t moved_for = 0;   ///< waiting pods that got their places by moves
  double placing_seconds = 0;  ///< of wall time
  double planning_seconds = 0;
  std::optional<std::string> violation;  ///< the first broken rule, at which it stopped
};

/// Simulates the service in virtual time, until the last arrival. Equal arguments give equal
/// outcomes, but for wall times.
///
/// A pod that fits nowhere waits. Whenever a node gets room, the waiting pods are tried there,
/// urgent ones first, then those that have waited longest. A group waits until all of it fits. An
/// urgent pod that waits takes the place of pods of lower priority, the cheapest ones by the
/// service's own rule. What breaks evicts its pods; of a group, all are evicted. An evicted pod
/// arrives again. Then the planner, if there is one, may move running pods, but no urgent ones and
/// none of groups. Every answer is checked.
/// @param planner  may be null
/// @returns the scheduler's error, if it could not answer
Result<SimulationOutcome> simulate(const Trace& trace, const Events& events,
                                   const SimulationOptions& options, Scheduler& scheduler,
                                   MovePlanner* planner);

}  // namespace tangram::bench
