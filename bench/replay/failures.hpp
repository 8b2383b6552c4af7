#pragma once

#include "bench/replay/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tangram::bench {

/// A device or a whole node breaks at one moment and is repaired at another. Milliseconds from the
/// start.
struct Failure {
  std::int64_t at = 0;
  std::int64_t repaired_at = 0;  ///< > at
  std::size_t node = 0;
  std::optional<std::uint32_t> gpu;  ///< nothing = the node
};

struct FailureOptions {
  int card_days = 0;  ///< mean days between two failures of one card; 0 = none fails
  int node_days = 0;  ///< the same of a node
  int repair_minutes = 240;
  std::uint64_t seed = 1;
};

/// In order of time. Failures come at random moments (exponential gaps); repairs take equally long.
[[nodiscard]] std::vector<Failure> failures_of(const Trace& trace, const FailureOptions& options,
                                               std::int64_t until);

}  // namespace tangram::bench
