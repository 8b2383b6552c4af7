#pragma once

#include <cstddef>
#include <cstdint>

/// The part of NVIDIA's management library that the agent calls: layouts and values of nvml.h 13.3
/// on x86-64, declared here so that neither CUDA nor a driver is needed to build. The layouts have
/// been the same since the version that each function's name carries.
namespace tangram::node::nvidia::nvml {

using Device = void*;    ///< valid until shutdown; nothing to free
using EventSet = void*;  ///< to be freed

/// The values of nvmlReturn_t that the agent distinguishes.
enum class Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kVersionMismatch = 18,  ///< of library and driver: one of them was upgraded
};

inline constexpr unsigned kTextSize = 96;  ///< of the longest UUID and name, with the final zero
inline constexpr unsigned kMaxNvLinks = 36;
inline constexpr std::uint32_t kNoInstance = 0xFFFFFFFF;  ///< in events: of the whole card
inline constexpr std::uint64_t kUnknownBytes = ~std::uint64_t{0};

// Kinds of events.
inline constexpr std::uint64_t kDoubleBitEcc = 0x2;
inline constexpr std::uint64_t kXidCritical = 0x8;

// How near two cards are: on one board, or under one PCIe switch; what is farther is larger.
inline constexpr unsigned kSingleSwitch = 10;

inline constexpr unsigned kRemoteIsSwitch = 2;  ///< at the other end of an NVLink
inline constexpr unsigned kAffinityOfNode = 0;  ///< a NUMA node, not a socket

// Compute modes.
inline constexpr int kDefaultMode = 0;
inline constexpr int kExclusiveProcess = 3;

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;  ///< with what the driver reserves
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  static constexpr std::uint32_t kVersion = 0x2000028;  // its size, and 2 in the highest byte
  std::uint32_t version;
  std::uint64_t total;
  std::uint64_t reserved;  ///< for the driver and the firmware
  std::uint64_t free;
  std::uint64_t used;  ///< without what is reserved
};
static_assert(sizeof(MemoryV2) == (MemoryV2::kVersion & 0xFFFFFFU));
static_assert(offsetof(MemoryV2, total) == 8 && offsetof(MemoryV2, reserved) == 16 &&
              offsetof(MemoryV2, free) == 24 && offsetof(MemoryV2, used) == 32);

struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t device_id;
  std::uint32_t subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, domain) == 16 &&
              offsetof(PciInfo, bus) == 20 && offsetof(PciInfo, device) == 24 &&
              offsetof(PciInfo, bus_id) == 36);

struct ProcessInfo {
  std::uint32_t pid;
  std::uint64_t used_memory;  ///< bytes, or kUnknownBytes
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_memory) == 8 &&
              offsetof(ProcessInfo, gpu_instance) == 16 &&
              offsetof(ProcessInfo, compute_instance) == 20);

struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data;  ///< of an XID event: its number
  std::uint32_t gpu_instance;
  std::uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, type) == 8 &&
              offsetof(EventData, data) == 16 && offsetof(EventData, gpu_instance) == 24 &&
              offsetof(EventData, compute_instance) == 28);

struct Utilization {
  std::uint32_t gpu;  ///< per cent
  std::uint32_t memory;
};
static_assert(sizeof(Utilization) == 8);

/// Of a MIG instance.
struct DeviceAttributes {
  std::uint32_t multiprocessors;
  std::uint32_t shared_engines[5];  // copy, decoder, encoder, JPEG, OFA
  std::uint32_t gpu_slices;
  std::uint32_t compute_slices;
  std::uint64_t memory_mib;
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, gpu_slices) == 24 &&
              offsetof(DeviceAttributes, memory_mib) == 32);

/// The functions, by what they do. Those that a driver may lack are null then.
struct Functions {
  Code (*init)();
  Code (*shutdown)();
  const char* (*error_string)(Code);
  Code (*driver_version)(char* out, unsigned size);
  Code (*cuda_version)(int* out);  ///< 12040 = 12.4; optional
  Code (*device_count)(unsigned* out);
  Code (*device_by_index)(unsigned index, Device* out);
  Code (*device_by_uuid)(const char* uuid, Device* out);  ///< of MIG instances too
  Code (*uuid)(Device, char* out, unsigned size);
  Code (*name)(Device, char* out, unsigned size);
  Code (*compute_capability)(Device, int* major, int* minor);  ///< optional
  Code (*memory)(Device, Memory* out);
  Code (*memory_v2)(Device, MemoryV2* out);  ///< optional: driver 510
  Code (*pci_info)(Device, PciInfo* out);
  /// A bit for each NUMA node near the card. Optional: driver 460.
  Code (*memory_affinity)(Device, unsigned words, unsigned long* out, unsigned scope);
  Code (*common_ancestor)(Device, Device, unsigned* level);               ///< optional
  Code (*nvlink_state)(Device, unsigned link, unsigned* active);          ///< optional
  Code (*nvlink_remote_pci)(Device, unsigned link, PciInfo* out);         ///< optional
  Code (*nvlink_remote_type)(Device, unsigned link, unsigned* type);      ///< optional
  Code (*mig_mode)(Device, unsigned* current, unsigned* pending);         ///< optional: driver 450
  Code (*max_mig_devices)(Device, unsigned* out);                         ///< optional
  Code (*mig_device_by_index)(Device, unsigned index, Device* out);       ///< optional
  Code (*gpu_instance)(Device, unsigned* out);                            ///< optional
  Code (*compute_instance)(Device, unsigned* out);                        ///< optional
  Code (*attributes)(Device, DeviceAttributes* out);                      ///< optional
  Code (*utilization)(Device, Utilization* out);                          ///< optional
  Code (*compute_processes)(Device, unsigned* count, ProcessInfo* out);   ///< optional: driver 510
  Code (*mps_processes)(Device, unsigned* count, ProcessInfo* out);       ///< optional: driver 510
  Code (*set_compute_mode)(Device, int mode);                             ///< optional
  Code (*supported_events)(Device, unsigned long long* types);            ///< optional
  Code (*event_set_create)(EventSet* out);                                ///< optional
  Code (*register_events)(Device, unsigned long long types, EventSet);    ///< optional
  Code (*event_set_wait)(EventSet, EventData* out, unsigned timeout_ms);  ///< optional: driver 450
  Code (*event_set_free)(EventSet);                                       ///< optional
};

}  // namespace tangram::node::nvidia::nvml
