// Streams, pools and graphs. Memory never lags behind: what is enqueued has happened, but for frees
// of what is in no pool.
#include "tests/fake_cuda/machine.hpp"

#include <algorithm>

namespace fake_cuda {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

/// Of a card, by which its pools grow.
std::uint64_t chunk_of(const Pool& pool) {
  return machine().file->cards[static_cast<std::size_t>(pool.device)].pool_chunk;
}

void shrink_to(Pool& pool, std::uint64_t bytes) {
  if (pool.device < 0 || pool.exported) return;
  const std::uint64_t wanted = std::max(bytes, pool.used);
  if (wanted >= pool.reserved) return;
  const std::uint64_t keep = round_up(wanted, chunk_of(pool));
  give(pool.device, pool.reserved - keep);
  pool.reserved = keep;
}

CUresult allocate_in(CUdeviceptr* pointer, std::uint64_t bytes, Pool* pool) {
  if (pool == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  hold_if_wanted(machine().file->hold_in_pool);
  const std::lock_guard guard(machine().mutex);
  if (machine().capturing != nullptr) {
    machine().capturing->bytes[pool->device] += bytes;
    *pointer = new_address(bytes);
    return CUDA_SUCCESS;
  }
  if (pool->device >= 0 && pool->used + bytes > pool->reserved) {
    const std::uint64_t more = round_up(pool->used + bytes, chunk_of(*pool)) - pool->reserved;
    if (const auto taken = take(pool->device, more); taken != CUDA_SUCCESS) return taken;
    pool->reserved += more;
  }
  pool->used += bytes;
  *pointer = new_address(bytes);
  machine().pointers[*pointer] = {.device = pool->device, .bytes = bytes, .pool = pool};
  return CUDA_SUCCESS;
}

/// The device of the stream's context.
CUresult allocate_async(CUdeviceptr* pointer, std::uint64_t bytes, CUstream stream) {
  const auto* const context = stream == nullptr ? current_context() : static_cast<Context*>(stream);
  if (context == nullptr) return kInvalidContext;
  return allocate_in(pointer, bytes, machine().current_pool[context->device]);
}

/// Managed memory without a place is the current context's here.
Pool* make_pool(int type, const CUmemLocation& location) {
  CUdevice device = location.type == kLocationDevice ? location.id : -1;
  if (type == kAllocationManaged && device < 0 && current_context() != nullptr) {
    device = current_context()->device;
  }
  auto* const made = new Pool{.device = device};
  machine().pools.push_back(made);
  return made;
}

CUresult back_with_memory(Graph* graph) {
  if (graph->backed) return CUDA_SUCCESS;
  Machine& own = machine();
  for (const auto& [device, bytes] : graph->bytes) {
    const std::uint64_t idle = own.graph_reserved[device] - own.graph_used[device];
    const std::uint64_t more = bytes > idle ? bytes - idle : 0;
    if (const auto taken = take(device, more); taken != CUDA_SUCCESS) return taken;
    own.graph_reserved[device] += more;
    own.graph_used[device] += bytes;
  }
  graph->backed = true;
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph) {
  const std::lock_guard guard(machine().mutex);
  if (static_cast<Graph*>(graph)->parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* const made = new Graph{.bytes = static_cast<Graph*>(graph)->bytes,
                               .kernels_ns = static_cast<Graph*>(graph)->kernels_ns};
  machine().graphs.push_back(made);
  *exec = made;
  return CUDA_SUCCESS;
}

CUresult destroy_graph(void* graph) {
  const std::lock_guard guard(machine().mutex);
  auto& graphs = machine().graphs;
  const auto found = std::find(graphs.begin(), graphs.end(), graph);
  if (found == graphs.end() || (*found)->parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((*found)->backed) {
    for (const auto& [device, bytes] : (*found)->bytes) machine().graph_used[device] -= bytes;
  }
  std::erase_if(graphs, [&](Graph* each) {
    if (each != graph && each->parent != graph) return false;
    delete each;
    return true;
  });
  return CUDA_SUCCESS;
}

/// Only a child that is moved can have memory.
CUresult add_child(CUgraph graph, const ChildGraphNodeParams& parameters) {
  const std::lock_guard guard(machine().mutex);
  auto* const child = static_cast<Graph*>(parameters.graph);
  auto* const parent = static_cast<Graph*>(graph);
  if (parameters.ownership != kChildMoves) {
    return child->bytes.empty() ? CUDA_SUCCESS : kNotSupported;
  }
  if (child->parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
  child->parent = parent;
  for (const auto& [device, bytes] : child->bytes) parent->bytes[device] += bytes;
  return CUDA_SUCCESS;
}

CUresult add_node(CUgraphNode* node, CUgraph graph, MemAllocNodeParams* parameters) {
  constexpr int kPinned = 1;
  if (parameters->pool.alloc_type != kPinned) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard guard(machine().mutex);
  static_cast<Graph*>(graph)->bytes[parameters->pool.location.id & 0xff] += parameters->byte_size;
  parameters->pointer = new_address(parameters->byte_size);
  *node = graph;
  return CUDA_SUCCESS;
}

/// What is in no pool ends when the stream is waited for. @param stream  as stream_of() says
CUresult free_in(CUstream stream, CUdeviceptr pointer) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().pointers.find(pointer);
  if (found == machine().pointers.end() || found->second.pool != nullptr) {
    return free_pointer(pointer);
  }
  if (found->second.freed_in != nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->second.freed_in = stream;
  return CUDA_SUCCESS;
}

void end(std::map<std::uint64_t, Block>::iterator pointer) {
  const auto [address, block] = *pointer;
  machine().pointers.erase(pointer);
  if (block.pool != nullptr) {
    block.pool->used -= block.bytes;
    shrink_to(*block.pool, block.pool->threshold);
  } else {
    give(block.device, block.bytes);
  }
  free_address(address, block.bytes);
}

}  // namespace

/// From a pool it stays reserved up to the pool's threshold.
CUresult free_pointer(CUdeviceptr pointer) {
  const std::lock_guard guard(machine().mutex);
  const auto found = machine().pointers.find(pointer);
  if (found == machine().pointers.end() || found->second.freed_in != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  end(found);
  return CUDA_SUCCESS;
}

void end_freed_in(CUstream stream) {
  const std::lock_guard guard(machine().mutex);
  auto& pointers = machine().pointers;
  for (auto at = pointers.begin(); at != pointers.end();) {
    const auto pointer = at++;
    const CUstream freed_in = pointer->second.freed_in;
    if (freed_in != nullptr && (stream == nullptr || freed_in == stream)) end(pointer);
  }
}

}  // namespace fake_cuda

using namespace fake_cuda;  // NOLINT(google-build-using-namespace): C's functions

FAKE_CUDA CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (current_context() == nullptr) return kInvalidContext;
  *stream = current_context();
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuStreamDestroy_v2(CUstream stream) {
  const std::lock_guard guard(machine().mutex);
  return machine().destroyed_streams.insert(stream).second ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
}
FAKE_CUDA CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

FAKE_CUDA CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = stream == nullptr ? current_context() : stream;
  return *context == nullptr ? kInvalidContext : CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
  return cuStreamGetCtx(stream, context);
}

FAKE_CUDA CUresult cuStreamBeginCapture_v2(CUstream, int) {
  const std::lock_guard guard(machine().mutex);
  machine().capturing = new Graph;
  machine().graphs.push_back(machine().capturing);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuStreamIsCapturing(CUstream, int* status) {
  *status = machine().capturing != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuStreamIsCapturing_ptsz(CUstream stream, int* status) {
  return cuStreamIsCapturing(stream, status);
}

FAKE_CUDA CUresult cuStreamGetCaptureInfo_v2(CUstream, int* status, std::uint64_t* id,
                                             CUgraph* graph, const CUgraphNode**,
                                             std::size_t* count) {
  *status = machine().capturing != nullptr ? 1 : 0;
  *id = 1;
  *graph = machine().capturing;
  *count = 0;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, int* status, std::uint64_t* id,
                                                  CUgraph* graph, const CUgraphNode** nodes,
                                                  std::size_t* count) {
  return cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}

FAKE_CUDA CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  const std::lock_guard guard(machine().mutex);
  *graph = machine().capturing;
  machine().capturing = nullptr;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate_async(pointer, bytes, stream);
}
FAKE_CUDA CUresult cuMemAllocAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return allocate_async(pointer, bytes, stream);
}
FAKE_CUDA CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, std::size_t bytes,
                                           CUmemoryPool pool, CUstream) {
  return allocate_in(pointer, bytes, static_cast<Pool*>(pool));
}
FAKE_CUDA CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* pointer, std::size_t bytes,
                                                CUmemoryPool pool, CUstream) {
  return allocate_in(pointer, bytes, static_cast<Pool*>(pool));
}
FAKE_CUDA CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return free_in(stream_of(stream, false), pointer);
}
FAKE_CUDA CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream) {
  return free_in(stream_of(stream, true), pointer);
}

FAKE_CUDA CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = machine().current_pool[device];
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = machine().default_pool[device];
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  machine().current_pool[device] = static_cast<Pool*>(pool);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard guard(machine().mutex);
  *pool = make_pool(properties->alloc_type, properties->location);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation*, int type) {
  if (type != kAllocationManaged) return kNotSupported;
  const std::lock_guard guard(machine().mutex);
  if (machine().managed_pool == nullptr) machine().managed_pool = make_pool(type, {});
  *pool = machine().managed_pool;
  return CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, int type) {
  return cuMemGetDefaultMemPool(pool, location, type);
}

FAKE_CUDA CUresult cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool pool, int,
                                                    std::uint64_t) {
  const std::lock_guard guard(machine().mutex);
  static_cast<Pool*>(pool)->exported = true;
  *static_cast<int*>(shareable) = 0;
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  const std::lock_guard guard(machine().mutex);
  shrink_to(*static_cast<Pool*>(pool), 0);  // what is in use stays, as does the object
  std::erase(machine().pools, pool);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t bytes) {
  const std::lock_guard guard(machine().mutex);
  shrink_to(*static_cast<Pool*>(pool), bytes);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemPoolGetAttribute(CUmemoryPool handle, int attribute, void* value) {
  if (attribute != kPoolReservedCurrent && attribute != kPoolUsedCurrent) return kNotSupported;
  if (const int failure = machine().file->fail_pools; failure != 0) return failure;
  if (attribute == kPoolReservedCurrent) hold_if_wanted(machine().file->hold_pool_reserved);
  {
    const std::lock_guard guard(machine().mutex);
    const Pool& pool = *static_cast<Pool*>(handle);
    *static_cast<std::uint64_t*>(value) =
        attribute == kPoolReservedCurrent ? pool.reserved : pool.used;
  }
  if (attribute == kPoolUsedCurrent) hold_if_wanted(machine().file->hold_pool_used);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuMemPoolSetAttribute(CUmemoryPool handle, int attribute, void* value) {
  constexpr int kReleaseThreshold = 4;
  if (attribute != kReleaseThreshold) return kNotSupported;
  const std::lock_guard guard(machine().mutex);
  Pool& pool = *static_cast<Pool*>(handle);
  pool.threshold = *static_cast<std::uint64_t*>(value);
  shrink_to(pool, pool.threshold);
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  const std::lock_guard guard(machine().mutex);
  machine().graphs.push_back(new Graph);
  *graph = machine().graphs.back();
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                          std::size_t, MemAllocNodeParams* parameters) {
  return add_node(node, graph, parameters);
}
FAKE_CUDA CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*, std::size_t,
                                  CUgraphNodeParams* parameters) {
  if (parameters->type == kNodeGraph) return add_child(graph, parameters->child);
  return parameters->type == kNodeMemAlloc ? add_node(node, graph, &parameters->alloc)
                                           : CUDA_SUCCESS;
}
FAKE_CUDA CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                     const void*, std::size_t count,
                                     CUgraphNodeParams* parameters) {
  return cuGraphAddNode(node, graph, after, count, parameters);
}
FAKE_CUDA CUresult cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                     const void*, std::size_t count,
                                     CUgraphNodeParams* parameters) {
  return cuGraphAddNode(node, graph, after, count, parameters);
}

FAKE_CUDA CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return instantiate(clone, original);
}

FAKE_CUDA CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*,
                                      std::size_t) {
  return instantiate(exec, graph);
}
FAKE_CUDA CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*,
                                         std::size_t) {
  return instantiate(exec, graph);
}
FAKE_CUDA CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, void*) {
  return instantiate(exec, graph);
}
FAKE_CUDA CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, std::uint64_t) {
  return instantiate(exec, graph);
}
FAKE_CUDA CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, void*) {
  return instantiate(exec, graph);
}

FAKE_CUDA CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const std::lock_guard guard(machine().mutex);
  run_on_card(stream_of(stream, false), static_cast<Graph*>(exec)->kernels_ns);
  return back_with_memory(static_cast<Graph*>(exec));
}
FAKE_CUDA CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  return cuGraphLaunch(exec, stream_of(stream, true));
}
FAKE_CUDA CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  const std::lock_guard guard(machine().mutex);
  return back_with_memory(static_cast<Graph*>(exec));
}

FAKE_CUDA CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream) {
  return cuGraphLaunch(exec, stream);
}

FAKE_CUDA CUresult cuGraphDestroy(CUgraph graph) { return destroy_graph(graph); }
FAKE_CUDA CUresult cuGraphExecDestroy(CUgraphExec exec) { return destroy_graph(exec); }

FAKE_CUDA CUresult cuDeviceGraphMemTrim(CUdevice device) {
  const std::lock_guard guard(machine().mutex);
  give(device, machine().graph_reserved[device] - machine().graph_used[device]);
  machine().graph_reserved[device] = machine().graph_used[device];
  return CUDA_SUCCESS;
}

FAKE_CUDA CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void* value) {
  if (attribute != kGraphReservedCurrent) return kNotSupported;
  *static_cast<std::uint64_t*>(value) = machine().graph_reserved[device];
  return CUDA_SUCCESS;
}
