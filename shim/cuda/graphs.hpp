#pragma once

#include "shim/cuda/abi.hpp"

#include <cstddef>

/// Memory of graphs. A node that allocates is accounted when it is added; its graph and whatever is
/// instantiated from it keep that alive. What the driver has reserved beyond that, for graphs that
/// were captured or destroyed, is accounted as soon as it is seen, even above the limit: then
/// nothing more is granted.
namespace tangram::shim::cuda {

/// Graphs may have memory of a card from now on: it is looked at whenever one runs.
void expect_graph_memory(std::size_t card, CUdevice device);

/// In a child after fork().
void forget_graphs();

}  // namespace tangram::shim::cuda
