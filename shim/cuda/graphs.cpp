#include "shim/cuda/graphs.hpp"

#include "shim/cuda/cards.hpp"
#include "shim/cuda/driver.hpp"
#include "shim/cuda/exports.hpp"
#include "shim/cuda/lease.hpp"
#include "shim/cuda/records.hpp"
#include "shim/mutex.hpp"

#include <array>
#include <atomic>

namespace tangram::shim::cuda {
namespace {

/// Of a card, in this process.
struct GraphMemory {
  CUdevice device = 0;
  std::uint64_t nodes = 0;   ///< accounted for nodes that are alive
  std::uint64_t beyond = 0;  ///< accounted for what the driver has reserved beyond that
  bool used = false;
};

struct Graphs {
  Mutex mutex;
  std::atomic<bool> used{false};  ///< false: launching a graph costs one load
  std::array<GraphMemory, kMaxCards> cards;
};
constinit Graphs graphs;

Thing thing_of(Kind kind, void* handle, std::size_t card) {
  // A graph can have memory of several cards: handles are aligned, so the number stays unique.
  static_assert(kMaxCards <= 16);
  return {kind, reinterpret_cast<std::uint64_t>(handle) + card};
}

/// Under the mutex.
/// @returns whether the container is within its limit
bool settle(std::size_t card) {
  GraphMemory& memory = graphs.cards[card];
  std::uint64_t reserved = 0;
  if (driver::cuDeviceGetGraphMemAttribute(memory.device, kGraphReservedCurrent, &reserved) !=
      CUDA_SUCCESS) {
    return true;
  }
  const std::uint64_t beyond = reserved > memory.nodes ? reserved - memory.nodes : 0;
  const std::uint64_t before = memory.beyond;
  memory.beyond = beyond;
  if (beyond < before) release(card, before - beyond);
  if (beyond <= before || reserve(card, beyond - before)) return true;
  reserve_anyway(card, beyond - before);
  return false;
}

bool settle_all() {
  if (!graphs.used.load(std::memory_order_relaxed)) return true;
  const Lock lock(graphs.mutex);
  bool within = true;
  for (std::size_t card = 0; card < kMaxCards; ++card) {
    if (graphs.cards[card].used) within = settle(card) && within;
  }
  return within;
}

/// What nodes have taken on a card has ended. The driver keeps the memory until it is trimmed.
void end_nodes(const Charge& charge) {
  const Lock lock(graphs.mutex);
  graphs.cards[charge.card].nodes -= charge.bytes;
  (void)settle(charge.card);
  release(charge.card, charge.bytes);
}

template <class Add>
CUresult add_node(CUgraph graph, const MemAllocNodeParams* parameters, Add&& add) {
  if (parameters == nullptr) return add();
  const CUdevice device = device_of(parameters->pool.location);
  return add_memory("cuGraphAddMemAllocNode", graph, card_of(device), device, parameters->byte_size,
                    add);
}

/// A child that was moved into a graph ends with it. If something else was made from the child,
/// that has its charge, and what the graph takes beyond it counts when it is seen.
void move_nodes(CUgraph child, CUgraph graph) {
  if (!graphs.used.load(std::memory_order_relaxed)) return;
  const Lock lock(graphs.mutex);
  for (std::size_t card = 0; card < kMaxCards; ++card) {
    const Thing from = thing_of(Kind::kGraph, child, card);
    const Thing to = thing_of(Kind::kGraph, graph, card);
    const bool has_nodes = grow(to, 0);
    if (!has_nodes && !share(from, to)) continue;
    const Removal removal = remove(from);
    if (removal.last) (void)grow(to, removal.charge.bytes);
  }
}

template <class Add>
CUresult add_any_node(CUgraph graph, const CUgraphNodeParams* node, Add&& add) {
  if (node == nullptr) return add();
  if (node->type == kNodeMemAlloc) return add_node(graph, &node->alloc, add);
  const bool moves = node->type == kNodeGraph && node->child.ownership == kChildMoves;
  const CUgraph child = moves ? node->child.graph : nullptr;
  const CUresult result = add();
  if (moves && result == CUDA_SUCCESS) move_nodes(child, graph);
  return result;
}

/// What was made from a graph keeps the memory of its nodes alive, too.
void share_nodes(CUgraph graph, Kind kind, void* made) {
  if (!graphs.used.load(std::memory_order_relaxed)) return;
  for (std::size_t card = 0; card < kMaxCards; ++card) {
    (void)share(thing_of(Kind::kGraph, graph, card), thing_of(kind, made, card));
  }
}

template <class Instantiate>
CUresult instantiate(const CUgraphExec* exec, CUgraph graph, Instantiate&& instantiate_it) {
  const CUresult result = instantiate_it();
  if (result != CUDA_SUCCESS) return result;
  share_nodes(graph, Kind::kGraphExec, *exec);
  if (settle_all()) return result;
  (void)cuGraphExecDestroy(*exec);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

template <class Driver>
CUresult run(CUgraphExec exec, CUstream stream, Driver& driver) {
  const CUresult result = driver(exec, stream);
  (void)settle_all();
  return result;
}

template <class Driver>
CUresult destroy(Kind kind, void* handle, Driver& driver) {
  std::array<Removal, kMaxCards> removals;
  const bool used = graphs.used.load(std::memory_order_relaxed);
  for (std::size_t card = 0; used && card < kMaxCards; ++card) {
    removals[card] = remove(thing_of(kind, handle, card));
  }
  const CUresult result = driver(handle);
  for (std::size_t card = 0; used && card < kMaxCards; ++card) {
    if (removals[card].last) end_nodes(removals[card].charge);
  }
  return result;
}

}  // namespace

void expect_graph_memory(std::size_t card, CUdevice device) {
  const Lock lock(graphs.mutex);
  graphs.cards[card].used = true;
  graphs.cards[card].device = device;
  graphs.used.store(true, std::memory_order_relaxed);
}

Capture capture_of(CUstream stream, bool per_thread) {
  Capture capture;
  int status = 0;
  const CUresult known = per_thread ? driver::cuStreamIsCapturing_ptsz(stream, &status)
                                    : driver::cuStreamIsCapturing(stream, &status);
  capture.active = known == CUDA_SUCCESS && status != 0;
  if (!capture.active) return capture;
  std::uint64_t id = 0;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  auto& get =
      per_thread ? driver::cuStreamGetCaptureInfo_v2_ptsz : driver::cuStreamGetCaptureInfo_v2;
  if (get(stream, &status, &id, &capture.graph, &nodes, &count) != CUDA_SUCCESS) {
    capture.graph = nullptr;
  }
  return capture;
}

bool record_node(CUgraph graph, std::size_t card, std::uint64_t bytes) {
  const Thing thing = thing_of(Kind::kGraph, graph, card);
  const Lock lock(graphs.mutex);  // or two first nodes would replace each other
  if (!grow(thing, bytes) && !record(thing, {card, bytes, nullptr}, give_back)) return false;
  graphs.cards[card].nodes += bytes;
  return true;
}

void forget_graphs() {
  graphs.mutex.reset();
  graphs.used.store(false, std::memory_order_relaxed);
  graphs.cards = {};
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                std::size_t count, MemAllocNodeParams* parameters) {
  return add_node(graph, parameters, [&] {
    return driver::cuGraphAddMemAllocNode(node, graph, dependencies, count, parameters);
  });
}

CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        std::size_t count, CUgraphNodeParams* parameters) {
  return add_any_node(graph, parameters, [&] {
    return driver::cuGraphAddNode(node, graph, dependencies, count, parameters);
  });
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const void* edges, std::size_t count, CUgraphNodeParams* parameters) {
  return add_any_node(graph, parameters, [&] {
    return driver::cuGraphAddNode_v2(node, graph, dependencies, edges, count, parameters);
  });
}

CUresult cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const void* edges, std::size_t count, CUgraphNodeParams* parameters) {
  return add_any_node(graph, parameters, [&] {
    return driver::cuGraphAddNode_v3(node, graph, dependencies, edges, count, parameters);
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  const CUresult result = driver::cuGraphClone(clone, original);
  if (result == CUDA_SUCCESS) share_nodes(original, Kind::kGraph, *clone);
  return result;
}

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                            std::size_t log_size) {
  return instantiate(exec, graph, [&] {
    return driver::cuGraphInstantiate(exec, graph, error_node, log, log_size);
  });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               std::size_t log_size) {
  return instantiate(exec, graph, [&] {
    return driver::cuGraphInstantiate_v2(exec, graph, error_node, log, log_size);
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, std::uint64_t flags) {
  return instantiate(exec, graph,
                     [&] { return driver::cuGraphInstantiateWithFlags(exec, graph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, void* parameters) {
  return instantiate(exec, graph,
                     [&] { return driver::cuGraphInstantiateWithParams(exec, graph, parameters); });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, void* parameters) {
  return instantiate(exec, graph, [&] {
    return driver::cuGraphInstantiateWithParams_ptsz(exec, graph, parameters);
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return run(exec, stream, driver::cuGraphUpload);
}
CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return run(exec, stream, driver::cuGraphUpload_ptsz);
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return launch_in_turn({.stream = stream, .is_graph = true},
                        [&] { return run(exec, stream, driver::cuGraphLaunch); });
}
CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return launch_in_turn({.stream = stream, .per_thread = true, .is_graph = true},
                        [&] { return run(exec, stream, driver::cuGraphLaunch_ptsz); });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return destroy(Kind::kGraph, graph, driver::cuGraphDestroy);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return destroy(Kind::kGraphExec, exec, driver::cuGraphExecDestroy);
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  const CUresult result = driver::cuDeviceGraphMemTrim(device);
  (void)settle_all();
  return result;
}

}  // namespace tangram::shim::cuda
