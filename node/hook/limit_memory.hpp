#pragma once

#include "node/hook/memory_limiter.hpp"

#include <string>
#include <vector>

namespace tangram::node::hook {

/// Cards that one limiter knows, with what a container may take of each.
struct CardLimits {
  MemoryLimiter& limiter;
  const std::vector<MemoryLimit>& limits;
};

/// Sets all limits on the container's own cgroup, and reads each of them back. All cards are
/// checked before the first limit is set, so that a mistake changes nothing. A failure later leaves
/// the limits before it: the container then does not start, and its cgroup is removed with them.
/// @returns the limiter's error; kConflict if another limit is in force than the one that was set
[[nodiscard]] Result<void> limit_memory(const std::string& cgroup,
                                        const std::vector<CardLimits>& cards);

}  // namespace tangram::node::hook
