#pragma once

#include "bench/replay/inprocess.hpp"
#include "bench/replay/move_planner.hpp"

#include <memory>

namespace tangram::bench {

/// Makes room as KAI-Scheduler's action "consolidation" is documented to do, for comparison:
/// docs/developer/action-framework.md and scheduler-concepts.md of NVIDIA/KAI-Scheduler, and its
/// option --max-consolidation-preemptees. Written from those pages alone.
///
/// Modelled: it runs after allocation, for each pod that is still pending. It supposes that more
/// and more pods leave, those of lightly loaded nodes first, and places the pending pod and then
/// them anew by the scheduler's own scores. It acts only if all of them find a place. At most 16
/// pods leave for one pending pod, the default of the option.
///
/// Not documented, and chosen here: all that leave for one pod leave the same node, the youngest
/// first; a node's load is the part of its cards that is granted; 64 nodes at most, on which the
/// pod would fit without those that may leave, are tried for one pod. Not modelled: queues, their
/// quotas and fair shares, and the period of its cycle, which is that of the simulation's planning.
/// A limit on moves in an hour, which KAI does not have, is the simulation's.
///
/// @param scheduler  outlives it
[[nodiscard]] std::unique_ptr<MovePlanner> make_consolidation(const Trace& trace,
                                                              const InProcessScheduler& scheduler);

}  // namespace tangram::bench
