#pragma once

#include <cstddef>
#include <cstdint>

/// What the stand-in for libcuda.so.1 needs of CUDA's driver interface: the layouts and numbers of
/// cuda.h, which NVIDIA keeps from version to version. A function whose layout changed has a new
/// name there ("_v2").
namespace tangram::shim::cuda {

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUdeviceptr_v1 = unsigned int;
using CUcontext = void*;
using CUstream = void*;
using CUarray = void*;
using CUmipmappedArray = void*;
using CUmemoryPool = void*;
using CUevent = void*;
using CUgraph = void*;
using CUgraphExec = void*;
using CUgraphNode = void*;
using CUmemGenericAllocationHandle = std::uint64_t;

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NOT_INITIALIZED = 3;
inline constexpr CUresult CUDA_ERROR_DEINITIALIZED = 4;
inline constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
inline constexpr CUresult CUDA_ERROR_OPERATING_SYSTEM = 304;
inline constexpr CUresult CUDA_ERROR_NOT_FOUND = 500;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;

// CUmemAllocationType
inline constexpr int kAllocationManaged = 2;
// CUmemLocationType
inline constexpr int kLocationDevice = 1;
inline constexpr int kLocationLocalityDomain = 6;  ///< a part of a device, since CUDA 13.4
// CUmemPool_attribute
inline constexpr int kPoolReservedCurrent = 5;
inline constexpr int kPoolUsedCurrent = 7;
// CUgraphMem_attribute
inline constexpr int kGraphReservedCurrent = 2;
// CUstreamCaptureMode
inline constexpr int kCaptureRelaxed = 2;
// CUgraphNodeType
inline constexpr int kNodeGraph = 4;
inline constexpr int kNodeMemAlloc = 10;
// CUgraphChildGraphNodeOwnership
inline constexpr int kChildMoves = 1;
// CUarraySparseSubresourceType
inline constexpr int kPieceMipTail = 1;
// CUmemOperationType
inline constexpr int kOperationMap = 1;
// CUlimit
inline constexpr int kLimitStackSize = 0;
inline constexpr int kLimitPrintfFifoSize = 1;
inline constexpr int kLimitMallocHeapSize = 2;
// CUdevice_attribute
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeThreadsPerMultiprocessor = 39;
// CUDA_ARRAY3D_*: the depth is a number of layers
inline constexpr unsigned kArrayLayered = 0x01;
inline constexpr unsigned kArrayCubemap = 0x04;
// … and no memory of their own until some is mapped
inline constexpr unsigned kArraySparse = 0x40;
inline constexpr unsigned kArrayDeferredMapping = 0x80;

struct CUuuid {
  unsigned char bytes[16];  // NOLINT(modernize-avoid-c-arrays): C's layout
};

struct CUmemLocation {
  int type;
  int id;  ///< of kLocationLocalityDomain: the device in the first byte
};

struct CUmemAllocationProp {
  int type;
  int requested_handle_types;
  CUmemLocation location;  ///< more follows
};

struct CUmemPoolProps {
  int alloc_type;
  int handle_types;
  CUmemLocation location;
  void* security;
  std::size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];  // NOLINT(modernize-avoid-c-arrays)
};

struct MemAllocNodeParams {
  CUmemPoolProps pool;
  const void* access;
  std::size_t access_count;
  std::size_t byte_size;
  CUdeviceptr pointer;
};

/// CUDA_CHILD_GRAPH_NODE_PARAMS
struct ChildGraphNodeParams {
  CUgraph graph;
  int ownership;  ///< since CUDA 12.9
};

struct CUgraphNodeParams {
  int type;
  int reserved[3];  // NOLINT(modernize-avoid-c-arrays)
  union {
    MemAllocNodeParams alloc;    ///< of kNodeMemAlloc
    ChildGraphNodeParams child;  ///< of kNodeGraph
  };                             ///< of 232 bytes
};

struct ArrayDescriptor {
  std::size_t width;
  std::size_t height;
  int format;
  unsigned channels;
};
struct ArrayDescriptor_v1 {
  unsigned width;
  unsigned height;
  int format;
  unsigned channels;
};
struct Array3dDescriptor {
  std::size_t width;
  std::size_t height;
  std::size_t depth;
  int format;
  unsigned channels;
  unsigned flags;
};
struct Array3dDescriptor_v1 {
  unsigned width;
  unsigned height;
  unsigned depth;
  int format;
  unsigned channels;
  unsigned flags;
};
// NOLINTEND(readability-identifier-naming)

/// CUlaunchConfig
struct LaunchConfig {
  unsigned grid[3];   // NOLINT(modernize-avoid-c-arrays)
  unsigned block[3];  // NOLINT(modernize-avoid-c-arrays)
  unsigned shared_bytes;
  CUstream stream;  ///< more follows
};

/// CUDA_LAUNCH_PARAMS
struct CooperativeLaunch {
  void* function;
  unsigned grid[3];   // NOLINT(modernize-avoid-c-arrays)
  unsigned block[3];  // NOLINT(modernize-avoid-c-arrays)
  unsigned shared_bytes;
  CUstream stream;
  void** parameters;
};

/// CUarrayMapInfo: memory that is mapped to a piece of a sparse array.
struct ArrayMapping {
  int array_type;
  void* array;  ///< or a mipmap
  int piece_type;
  alignas(8) unsigned piece[8];  // NOLINT(modernize-avoid-c-arrays)
  int operation;
  int handle_type;
  CUmemGenericAllocationHandle handle;
  std::uint64_t offset;
  unsigned devices;
  unsigned flags;
  unsigned reserved[2];  // NOLINT(modernize-avoid-c-arrays)
};

static_assert(sizeof(ArrayMapping) == 96 && offsetof(ArrayMapping, operation) == 56);
static_assert(offsetof(LaunchConfig, stream) == 32 && offsetof(CooperativeLaunch, stream) == 40);
static_assert(sizeof(CUmemPoolProps) == 88 && offsetof(MemAllocNodeParams, byte_size) == 104);
static_assert(offsetof(CUgraphNodeParams, child) == 16);
static_assert(sizeof(Array3dDescriptor) == 40 && sizeof(ArrayDescriptor) == 24);

}  // namespace tangram::shim::cuda
