#pragma once

#include <cstddef>
#include <cstdint>

/// NVML's binary interface as the fake serves it: NVIDIA's nvml.h 13.5, x86-64. Declared apart from
/// node/vendor/nvidia/nvml_api.hpp on purpose, so that a slip in either shows as a difference.
namespace fake_nvml {

// NOLINTBEGIN(readability-identifier-naming): the members and values carry NVIDIA's names

enum Return : int {
  SUCCESS = 0,
  ERROR_UNINITIALIZED = 1,
  ERROR_INVALID_ARGUMENT = 2,
  ERROR_NOT_SUPPORTED = 3,
  ERROR_NO_PERMISSION = 4,
  ERROR_NOT_FOUND = 6,
  ERROR_INSUFFICIENT_SIZE = 7,
  ERROR_DRIVER_NOT_LOADED = 9,
  ERROR_TIMEOUT = 10,
  ERROR_FUNCTION_NOT_FOUND = 13,
  ERROR_GPU_IS_LOST = 15,
  ERROR_OPERATING_SYSTEM = 17,
  ERROR_LIB_RM_VERSION_MISMATCH = 18,
  ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};

inline constexpr std::uint64_t EVENT_DOUBLE_BIT_ECC = 0x2;
inline constexpr std::uint64_t EVENT_XID = 0x8;
inline constexpr unsigned MEMORY_V2 = 0x2000028;
inline constexpr std::uint64_t MEMORY_LIMIT_MAX = 0xFFFFFFFFFFFFFFFF;
inline constexpr unsigned PROCESS_DETAIL_LIST_V1 = 0x1000018;
inline constexpr unsigned PROCESSES_UTILIZATION_V1 = 0x1000018;
inline constexpr unsigned NO_INSTANCE = 0xFFFFFFFF;

struct Memory {
  std::uint64_t total, free, used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8 &&
              offsetof(MemoryV2, used) == 32);

struct SetMemoryLimits {
  const char* nameSpace;
  unsigned long long softLimit, hardLimit;
};
static_assert(sizeof(SetMemoryLimits) == 24 && offsetof(SetMemoryLimits, hardLimit) == 16);

struct GetMemoryLimits {
  const char* nameSpace;
  unsigned long long softLimit, hardLimit, currentUsed;
};
static_assert(sizeof(GetMemoryLimits) == 32 && offsetof(GetMemoryLimits, hardLimit) == 16 &&
              offsetof(GetMemoryLimits, currentUsed) == 24);

struct Bar1Memory {
  std::uint64_t total, free, used;
};

struct PciInfo {
  char busIdLegacy[16];
  std::uint32_t domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 &&
              offsetof(PciInfo, busId) == 36);

struct ProcessInfo {
  std::uint32_t pid;
  std::uint64_t usedGpuMemory;
  std::uint32_t gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, usedGpuMemory) == 8 &&
              offsetof(ProcessInfo, gpuInstanceId) == 16);

struct ProcessInfoV1 {
  std::uint32_t pid;
  std::uint64_t usedGpuMemory;
};
static_assert(sizeof(ProcessInfoV1) == 16 && offsetof(ProcessInfoV1, usedGpuMemory) == 8);

struct ProcessDetail {
  std::uint32_t pid;
  std::uint64_t usedGpuMemory;
  std::uint32_t gpuInstanceId, computeInstanceId;
  std::uint64_t usedGpuCcProtectedMemory;
};
static_assert(sizeof(ProcessDetail) == 32 && offsetof(ProcessDetail, gpuInstanceId) == 16);

struct ProcessDetailList {
  std::uint32_t version, mode, numProcArrayEntries;
  ProcessDetail* procArray;
};
static_assert(sizeof(ProcessDetailList) == 24 && offsetof(ProcessDetailList, procArray) == 16);

struct UtilizationSample {
  std::uint32_t pid;
  std::uint64_t timeStamp;
  std::uint32_t smUtil, memUtil, encUtil, decUtil;
};
static_assert(sizeof(UtilizationSample) == 32 && offsetof(UtilizationSample, smUtil) == 16);

struct UtilizationInfo {
  std::uint64_t timeStamp;
  std::uint32_t pid, smUtil, memUtil, encUtil, decUtil, jpgUtil, ofaUtil;
};
static_assert(sizeof(UtilizationInfo) == 40 && offsetof(UtilizationInfo, smUtil) == 12);

struct ProcessesUtilization {
  std::uint32_t version, processSamplesCount;
  std::uint64_t lastSeenTimeStamp;
  UtilizationInfo* procUtilArray;
};
static_assert(sizeof(ProcessesUtilization) == 24);

struct EventData {
  void* device;
  std::uint64_t eventType, eventData;
  std::uint32_t gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, eventType) == 8 &&
              offsetof(EventData, computeInstanceId) == 28);

struct Utilization {
  std::uint32_t gpu, memory;
};
static_assert(sizeof(Utilization) == 8);

struct DeviceAttributes {
  std::uint32_t multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount,
      sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
  std::uint64_t memorySizeMB;
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memorySizeMB) == 32);

// NOLINTEND(readability-identifier-naming)

}  // namespace fake_nvml
