#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

/// The part of NVIDIA's management library that the agent and the memory hook call: layouts and
/// values of nvml.h 13.5 on x86-64, declared here so that neither CUDA nor a driver is needed to
/// build. The layouts have been the same since the version that each function's name carries.
namespace tangram::node::nvidia::nvml {

using Device = void*;    ///< valid until shutdown; nothing to free
using EventSet = void*;  ///< to be freed

/// The values of nvmlReturn_t that the agent distinguishes.
enum class Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kOperatingSystem = 17,
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

/// Limits of a card's memory for the processes of a cgroup, in bytes. Driver 615.
struct SetMemoryLimits {
  const char* cgroup;  ///< the path of its folder
  std::uint64_t soft;  ///< kept free for them
  std::uint64_t hard;
};
static_assert(sizeof(SetMemoryLimits) == 24 && offsetof(SetMemoryLimits, soft) == 8 &&
              offsetof(SetMemoryLimits, hard) == 16);

struct GetMemoryLimits {
  const char* cgroup;
  std::uint64_t soft;
  std::uint64_t hard;  ///< the largest number = no limit
  std::uint64_t used;
};
static_assert(sizeof(GetMemoryLimits) == 32 && offsetof(GetMemoryLimits, soft) == 8 &&
              offsetof(GetMemoryLimits, hard) == 16 && offsetof(GetMemoryLimits, used) == 24);

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

/// Finds functions of a loaded library by name, and keeps the names of missing ones.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}
  [[nodiscard]] const std::string& missing() const { return missing_; }

 protected:
  /// Becomes a pointer of the type that it is assigned to.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): that is its purpose
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Symbol optional(const char* name) const { return {::dlsym(library_, name)}; }
  [[nodiscard]] Symbol required(const char* name) {
    const Symbol found = optional(name);
    if (found.address == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(name);
    return found;
  }

 private:
  void* library_;
  std::string missing_;
};

template <class... Arguments>
using Call = Code (*)(Arguments...);

/// The functions, by what they do. The optional ones are null where the driver lacks them.
struct Functions : Symbols {
  using Symbols::Symbols;

  Call<> init = required("nvmlInit_v2");
  Call<> shutdown = required("nvmlShutdown");
  const char* (*error_string)(Code) = required("nvmlErrorString");
  // Texts are written into a buffer of a given size.
  Call<char*, unsigned> driver_version = required("nvmlSystemGetDriverVersion");
  Call<int*> cuda_version = optional("nvmlSystemGetCudaDriverVersion_v2");  ///< 12040 = 12.4
  Call<unsigned*> device_count = required("nvmlDeviceGetCount_v2");
  Call<unsigned, Device*> device_by_index = required("nvmlDeviceGetHandleByIndex_v2");
  /// Of MIG instances too.
  Call<const char*, Device*> device_by_uuid = required("nvmlDeviceGetHandleByUUID");
  Call<Device, char*, unsigned> uuid = required("nvmlDeviceGetUUID");
  Call<Device, char*, unsigned> name = required("nvmlDeviceGetName");
  /// Major, minor.
  Call<Device, int*, int*> compute_capability = optional("nvmlDeviceGetCudaComputeCapability");
  Call<Device, Memory*> memory = required("nvmlDeviceGetMemoryInfo");
  Call<Device, MemoryV2*> memory_v2 = optional("nvmlDeviceGetMemoryInfo_v2");  ///< driver 510
  // Not for MIG instances. Driver 615.
  Call<Device, SetMemoryLimits*> set_memory_limits = optional("nvmlDeviceSetMemoryLimits_v1");
  Call<Device, GetMemoryLimits*> get_memory_limits = optional("nvmlDeviceGetMemoryLimits_v1");
  Call<Device, PciInfo*> pci_info = required("nvmlDeviceGetPciInfo_v3");
  /// A number of words with a bit for each NUMA node near the card; a scope. Driver 460.
  Call<Device, unsigned, unsigned long*, unsigned> memory_affinity =
      optional("nvmlDeviceGetMemoryAffinity");
  Call<Device, Device, unsigned*> common_ancestor = optional("nvmlDeviceGetTopologyCommonAncestor");
  // Of a link, by its number.
  Call<Device, unsigned, unsigned*> nvlink_state = optional("nvmlDeviceGetNvLinkState");
  Call<Device, unsigned, PciInfo*> nvlink_remote_pci =
      optional("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  Call<Device, unsigned, unsigned*> nvlink_remote_type =
      optional("nvmlDeviceGetNvLinkRemoteDeviceType");
  /// Current, pending. Driver 450.
  Call<Device, unsigned*, unsigned*> mig_mode = optional("nvmlDeviceGetMigMode");
  Call<Device, unsigned*> max_mig_devices = optional("nvmlDeviceGetMaxMigDeviceCount");
  Call<Device, unsigned, Device*> mig_device_by_index =
      optional("nvmlDeviceGetMigDeviceHandleByIndex");
  Call<Device, unsigned*> gpu_instance = optional("nvmlDeviceGetGpuInstanceId");
  Call<Device, unsigned*> compute_instance = optional("nvmlDeviceGetComputeInstanceId");
  Call<Device, DeviceAttributes*> attributes = optional("nvmlDeviceGetAttributes_v2");
  Call<Device, Utilization*> utilization = optional("nvmlDeviceGetUtilizationRates");
  // The size of the list, then the number of processes; the list. Driver 510.
  Call<Device, unsigned*, ProcessInfo*> compute_processes =
      optional("nvmlDeviceGetComputeRunningProcesses_v3");
  Call<Device, unsigned*, ProcessInfo*> mps_processes =
      optional("nvmlDeviceGetMPSComputeRunningProcesses_v3");
  Call<Device, unsigned*, ProcessInfo*> graphics_processes =
      optional("nvmlDeviceGetGraphicsRunningProcesses_v3");
  Call<Device, int> set_compute_mode = optional("nvmlDeviceSetComputeMode");
  Call<Device, unsigned long long*> supported_events = optional("nvmlDeviceGetSupportedEventTypes");
  Call<EventSet*> event_set_create = optional("nvmlEventSetCreate");
  Call<Device, unsigned long long, EventSet> register_events = optional("nvmlDeviceRegisterEvents");
  /// For so many milliseconds. Driver 450.
  Call<EventSet, EventData*, unsigned> event_set_wait = optional("nvmlEventSetWait_v2");
  Call<EventSet> event_set_free = optional("nvmlEventSetFree");
};

}  // namespace tangram::node::nvidia::nvml
