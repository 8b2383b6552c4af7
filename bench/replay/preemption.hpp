#pragma once

#include "bench/replay/scheduler.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace tangram::bench {

/// Pods that leave a node so that an urgent one fits there.
struct Preempted {
  std::size_t node = 0;  ///< into Trace::nodes
  std::vector<PodNumber> victims;
};

/// By the service's own rule, cluster::cheapest_preemption(). Only pods with cards leave.
/// @param works  may the node, into Trace::nodes, take pods?
/// @returns nothing if no set of pods of lower priority makes room
[[nodiscard]] std::optional<Preempted> preempt(const Trace& trace, const TracePod& pod,
                                               const model::ClusterSnapshot& cluster,
                                               const std::function<bool(std::size_t)>& works);

}  // namespace tangram::bench
