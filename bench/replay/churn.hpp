#pragma once

#include "base/result.hpp"
#include "bench/replay/scheduler.hpp"
#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::bench {

/// When a pod arrives and how long it runs. Times in milliseconds from the start.
struct PodLifetime {
  TracePod pod;
  std::int64_t arrives = 0;
  std::int64_t lasts = 0;  ///< from its placement; > 0
};

/// Arrivals and lifetimes for a trace without its own.
struct ChurnOptions {
  /// Requested GPU time in percent of the capacity. Below the allocation that a policy reaches
  /// without departures no pod waits.
  int load_percent = 97;
  /// Pods in all; the trace's arrivals over and over. 0 = four times as many as it has.
  std::size_t pods = 0;
  std::uint64_t seed = 1;
};

/// Arrivals at random moments (exponential gaps) and lifetimes that are exponential with a mean of
/// an hour; equal options give equal lifetimes. Times that the trace has are kept as they are.
[[nodiscard]] std::vector<PodLifetime> lifetimes_of(const Trace& trace,
                                                    const ChurnOptions& options);

/// The results. Averages over time exclude the first quarter, in which the cluster fills.
struct ChurnOutcome {
  double allocated_percent = 0;  ///< of GPU, mean over time until the last arrival
  double waiting_pods = 0;       ///< mean over time
  double mean_wait_s = 0;        ///< of all pods that were placed
  double p95_wait_s = 0;         ///< 95 % of those waited less
  std::size_t placed = 0;
  std::size_t never_placed = 0;
  double seconds = 0;                    ///< of wall time spent placing
  std::optional<std::string> violation;  ///< the first broken rule
};

/// Gives the scheduler every pod as it arrives. One that fits nowhere waits, and is tried again,
/// the oldest first, on every node that a pod left. Checks every answer.
Result<ChurnOutcome> churn(const Trace& trace, const std::vector<PodLifetime>& lifetimes,
                           Scheduler& scheduler);

/// Some lines for people.
[[nodiscard]] std::string churn_text(const ChurnOutcome& outcome);
/// One JSON object on a line.
[[nodiscard]] std::string churn_json(const ChurnOutcome& outcome);

}  // namespace tangram::bench
