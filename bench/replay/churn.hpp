#pragma once

#include "base/result.hpp"
#include "bench/replay/placer.hpp"
#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// A pod that comes and goes. Times in milliseconds from the start.
struct Stay {
  TracePod pod;
  std::int64_t arrives = 0;
  std::int64_t lasts = 0;  ///< from when it is placed; > 0
};

/// How pods come and go where the trace does not say.
struct ChurnOptions {
  /// GPU time asked for, in percent of what there is. Below the allocation that a policy reaches
  /// without departures nothing waits.
  int load_percent = 97;
  /// Pods in all; the trace's arrivals over and over. 0 = four times as many as it has.
  std::size_t pods = 0;
  std::uint64_t seed = 1;
};

/// Arrivals at random moments (exponential gaps) and lifetimes that are exponential with a mean of
/// an hour; equal options give equal stays. Times that the trace has are kept as they are.
[[nodiscard]] std::vector<Stay> stays_of(const Trace& trace, const ChurnOptions& options);

/// What came of it. Averages over time leave the first quarter out, in which the cluster fills.
struct ChurnOutcome {
  double allocated_percent = 0;  ///< of GPU, mean over time until the last arrival
  double waiting_pods = 0;       ///< mean over time
  double mean_wait_s = 0;        ///< of all pods that were placed
  double late_wait_s = 0;        ///< 95 % of those waited less
  std::size_t placed = 0;
  std::size_t never_placed = 0;
  double seconds = 0;                    ///< of wall time spent placing
  std::optional<std::string> violation;  ///< the first broken rule
};

/// Gives the placer every pod as it arrives. One that fits nowhere waits, and is tried again, the
/// oldest first, on every node that a pod left. Checks every answer.
Result<ChurnOutcome> churn(const Trace& trace, const std::vector<Stay>& stays, Placer& placer);

/// Some lines for people.
[[nodiscard]] std::string churn_text(const ChurnOutcome& outcome);
/// One JSON object on a line.
[[nodiscard]] std::string churn_json(const ChurnOutcome& outcome);

}  // namespace tangram::bench
