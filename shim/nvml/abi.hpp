#pragma once

#include <cstddef>
#include <cstdint>

/// What the stand-in uses of NVML's binary interface: layouts and values of nvml.h 13.5 on x86-64.
/// A layout never changes: a newer one comes with a new function or a new version number.
namespace tangram::shim::nvml {

using Device = void*;

// Values of nvmlReturn_t.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidArgument = 2;
inline constexpr int kNotSupported = 3;
inline constexpr int kNotFound = 6;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kLibraryNotFound = 12;
inline constexpr int kFunctionNotFound = 13;
inline constexpr int kUnknown = 999;

inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFF;  ///< of a process: on the whole card
inline constexpr unsigned kUuidTextSize = 96;             ///< with the final zero

/// The number that stands in the first member of a versioned structure.
template <class Structure>
constexpr std::uint32_t version_of(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(Structure)) | version << 24U;
}

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);

/// Of the list functions without a suffix.
struct ProcessV1 {
  std::uint32_t pid;
  std::uint64_t used_memory;
};
static_assert(sizeof(ProcessV1) == 16);

/// Of the list functions with _v2 and _v3.
struct ProcessV2 {
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessV2) == 24);

struct ProcessDetail {
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
  std::uint64_t used_protected_memory;
};
static_assert(sizeof(ProcessDetail) == 32);

// Which processes a ProcessDetailList is to have.
inline constexpr std::uint32_t kComputeProcesses = 0;
inline constexpr std::uint32_t kAllProcesses = 3;

struct ProcessDetailList {
  std::uint32_t version;
  std::uint32_t mode;
  std::uint32_t count;
  ProcessDetail* processes;
};
static_assert(sizeof(ProcessDetailList) == 24 && offsetof(ProcessDetailList, processes) == 16);

struct ProcessesUtilization {
  std::uint32_t version;
  std::uint32_t count;
  std::uint64_t last_seen;
  void* samples;
};
static_assert(sizeof(ProcessesUtilization) == 24);

}  // namespace tangram::shim::nvml
