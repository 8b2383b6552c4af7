#pragma once

#include "shim/cuda/cards.hpp"

#include <cstddef>

/// Memory of graphs. A node that allocates is accounted when it is added or captured; its graph,
/// the graph's clones and whatever is instantiated from them keep that alive. A child that is moved
/// into a graph is part of it; the driver clones no child that allocates. What the driver has
/// reserved beyond that, as for graphs that were destroyed, is accounted as soon as it is seen,
/// even above the limit: then nothing more is granted. Nodes of a capture that fails stay accounted
/// until a graph with the same handle is destroyed: the driver does not say what became of its
/// graph.
namespace tangram::shim::cuda {

/// Graphs may have memory of a card from now on: it is looked at whenever one runs.
void expect_graph_memory(std::size_t card, CUdevice device);

/// Whether a stream captures what it is given, and into which graph.
struct Capture {
  bool active = false;
  CUgraph graph = nullptr;  ///< null: the driver does not say
};
[[nodiscard]] Capture capture_of(CUstream stream, bool per_thread);

/// Records memory that a node has taken on a card beside what its graph has there already.
/// @returns false if there is no memory for the record
[[nodiscard]] bool record_node(CUgraph graph, std::size_t card, std::uint64_t bytes);

/// Adds a node that allocates.
/// @param add  calls the driver
template <class Add>
CUresult add_memory(const char* call, CUgraph graph, std::size_t card, CUdevice device,
                    std::uint64_t bytes, Add&& add) {
  Reservation reservation(call, card, bytes);
  if (!reservation.granted()) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = add();
  if (result != CUDA_SUCCESS || card == kNoCard) return result;
  expect_graph_memory(card, device);
  if (record_node(graph, card, bytes)) reservation.keep();
  return result;
}

/// In a child after fork().
void forget_graphs();

}  // namespace tangram::shim::cuda
