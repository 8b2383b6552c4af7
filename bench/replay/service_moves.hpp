#pragma once

#include "bench/replay/inprocess.hpp"
#include "bench/replay/move_planner.hpp"

#include <memory>

namespace tangram::bench {

/// Makes room by the service's own rule, cluster::plan_moves(). Every pod is one of a controller,
/// no disruption budget forbids a move, and every node takes every pod.
/// @param scheduler  outlives it
[[nodiscard]] std::unique_ptr<MovePlanner> make_service_moves(const Trace& trace,
                                                              const InProcessScheduler& scheduler);

}  // namespace tangram::bench
