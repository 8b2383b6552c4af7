#pragma once

#include "base/result.hpp"
#include "bench/replay/scheduler.hpp"
#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// One arrival and what stood afterwards.
struct Step {
  std::optional<Placed> placed;      ///< nothing = left out
  std::int64_t arrived_milli = 0;    ///< GPU requested by all arrivals so far
  std::int64_t allocated_milli = 0;  ///< GPU of all pods placed so far
};

/// A replay, as far as it came.
struct Outcome {
  std::vector<Step> steps;               ///< one per arrival; fewer if a rule was broken
  std::optional<std::string> violation;  ///< the first broken rule, at which the replay stopped
  std::int64_t capacity_milli = 0;
  double seconds = 0;  ///< of wall time spent placing

  [[nodiscard]] std::size_t placed() const;
};

/// Called after each arrival with the number done.
using Progress = std::function<void(std::size_t done)>;

/// Gives the scheduler one pod at a time, none of which ever leaves, and checks every answer.
/// @returns the scheduler's error, if it could not answer
Result<Outcome> replay(const Trace& trace, Scheduler& scheduler, const Progress& progress);

/// `part` of `whole` in hundredths of a percent, rounded half up.
[[nodiscard]] std::int64_t hundredths_of_percent(std::int64_t part, std::int64_t whole);

/// The marks by which replays are compared: for every whole percent k of the capacity, the mean
/// allocated percent (two decimals each) over the arrivals after which the arrived percent
/// rounds to k.
[[nodiscard]] std::map<int, double> marks(const Outcome& outcome);

}  // namespace tangram::bench
