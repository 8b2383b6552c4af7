// What a machine has: driver, cards, MIG instances, links.

#include "tests/fake_nvml/calls.hpp"

#include <cstdio>
#include <cstring>
#include <sstream>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
namespace fake_nvml {

namespace {

Return copy(const std::string& text, char* out, unsigned size) {
  if (World::the().script.boundless) {
    std::memset(out, 'A', size);
    return SUCCESS;
  }
  if (text.size() >= size) return ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return SUCCESS;
}

/// The link number `link` of a card; null if it has no such link.
const LinkTo* link_of(const Device& device, unsigned link) {
  for (const LinkTo& to : device.links) {
    if (link < static_cast<unsigned>(to.count)) return &to;
    link -= static_cast<unsigned>(to.count);
  }
  return nullptr;
}

void fill_pci(const std::string& address, PciInfo& out) {
  out = {};
  std::sscanf(address.c_str(), "%x:%x:%x", &out.domain, &out.bus, &out.device);
  std::snprintf(out.busIdLegacy, sizeof out.busIdLegacy, "%04X:%02X:%02X.0", out.domain & 0xFFFFU,
                out.bus & 0xFFU, out.device & 0xFFU);
  std::snprintf(out.busId, sizeof out.busId, "%08X:%02X:%02X.0", out.domain, out.bus & 0xFFU,
                out.device & 0xFFU);
}

}  // namespace

EXPORT int nvmlInit_v2() {
  World& world = World::the();
  const Lock lock(world.mutex);
  return world.init();
}

EXPORT int nvmlShutdown() {
  World& world = World::the();
  const Lock lock(world.mutex);
  return world.shutdown();
}

EXPORT const char* nvmlErrorString(int code) {
  switch (code) {
    case SUCCESS:
      return "Success";
    case ERROR_UNINITIALIZED:
      return "Uninitialized";
    case ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case ERROR_NOT_FOUND:
      return "Not Found";
    case ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case ERROR_OPERATING_SYSTEM:
      return "Unknown Error on OS";
    case ERROR_LIB_RM_VERSION_MISMATCH:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

EXPORT int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return with_session("nvmlSystemGetDriverVersion",
                      [&](World& world) { return copy(world.script.driver_version, out, size); });
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  return with_session("nvmlSystemGetCudaDriverVersion_v2", [&](World& world) {
    *out = world.script.cuda_version;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetCount_v2(unsigned* out) {
  return with_session("nvmlDeviceGetCount_v2", [&](World& world) {
    *out = world.script.boundless ? ~0U : static_cast<unsigned>(world.script.cards.size());
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  return with_session("nvmlDeviceGetHandleByIndex_v2", [&](World& world) {
    if (index >= world.script.cards.size()) return ERROR_INVALID_ARGUMENT;
    if (world.script.cards[index].lost) return ERROR_GPU_IS_LOST;
    *out = world.handle(world.script.cards[index].uuid);
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** out) {
  return with_session("nvmlDeviceGetHandleByUUID", [&](World& world) {
    const Device* device = world.find_uuid(uuid);
    if (device == nullptr) return ERROR_NOT_FOUND;
    const Device* card = world.parent(*device);
    if (device->lost || (card != nullptr && card->lost)) return ERROR_GPU_IS_LOST;
    *out = world.handle(uuid);
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetUUID(void* handle, char* out, unsigned size) {
  return with_device("nvmlDeviceGetUUID", handle,
                     [&](World&, Device& device) { return copy(device.uuid, out, size); });
}

EXPORT int nvmlDeviceGetName(void* handle, char* out, unsigned size) {
  return with_device("nvmlDeviceGetName", handle,
                     [&](World&, Device& device) { return copy(device.name, out, size); });
}

EXPORT int nvmlDeviceGetMinorNumber(void* handle, unsigned* out) {
  return with_device("nvmlDeviceGetMinorNumber", handle, [&](World&, Device& device) {
    *out = device.minor;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  return with_device("nvmlDeviceGetCudaComputeCapability", handle, [&](World&, Device& device) {
    char dot = 0;
    std::istringstream(device.capability) >> *major >> dot >> *minor;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* out) {
  return with_device("nvmlDeviceGetPciInfo_v3", handle, [&](World&, Device& device) {
    fill_pci(device.pci, *out);
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMemoryAffinity(void* handle, unsigned words, unsigned long* out, unsigned) {
  return with_device("nvmlDeviceGetMemoryAffinity", handle, [&](World&, Device& device) {
    if (device.numa < 0) return ERROR_NOT_SUPPORTED;
    std::fill_n(out, words, 0UL);
    const auto node = static_cast<unsigned>(device.numa);
    if (node / 64 >= words) return ERROR_INSUFFICIENT_SIZE;
    out[node / 64] |= 1UL << (node % 64);
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetTopologyCommonAncestor(void* one, void* other, unsigned* level) {
  return with_device("nvmlDeviceGetTopologyCommonAncestor", one, [&](World& world, Device& first) {
    const Device* second = world.find(other);
    if (second == nullptr) return ERROR_NOT_FOUND;
    const bool together = !first.pcie_switch.empty() && first.pcie_switch == second->pcie_switch;
    *level = together ? 10 : first.numa == second->numa ? 40 : 50;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetNvLinkState(void* handle, unsigned link, unsigned* active) {
  return with_device("nvmlDeviceGetNvLinkState", handle, [&](World&, Device& device) {
    if (device.links.empty()) return ERROR_NOT_SUPPORTED;
    *active = link_of(device, link) != nullptr ? 1 : 0;
    return *active != 0 ? SUCCESS : ERROR_INVALID_ARGUMENT;
  });
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* handle, unsigned link, PciInfo* out) {
  return with_device("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle,
                     [&](World& world, Device& device) {
                       const LinkTo* to = link_of(device, link);
                       if (to == nullptr) return ERROR_INVALID_ARGUMENT;
                       const Device* peer = world.find_uuid(to->peer);
                       fill_pci(peer != nullptr ? peer->pci : "0000:fe:00.0", *out);
                       return SUCCESS;
                     });
}

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void* handle, unsigned link, unsigned* out) {
  return with_device("nvmlDeviceGetNvLinkRemoteDeviceType", handle, [&](World&, Device& device) {
    const LinkTo* to = link_of(device, link);
    if (to == nullptr) return ERROR_INVALID_ARGUMENT;
    *out = to->peer == "switch" ? 2 : 0;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMigMode(void* handle, unsigned* current, unsigned* pending) {
  return with_device("nvmlDeviceGetMigMode", handle, [&](World&, Device& device) {
    *current = *pending = device.mig ? 1 : 0;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void* handle, unsigned* out) {
  return with_device("nvmlDeviceGetMaxMigDeviceCount", handle, [&](World& world, Device&) {
    *out = world.script.boundless ? ~0U : 7;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void* handle, unsigned index, void** out) {
  return with_device("nvmlDeviceGetMigDeviceHandleByIndex", handle,
                     [&](World& world, Device& device) {
                       if (index >= device.instances.size()) return ERROR_NOT_FOUND;
                       *out = world.handle(device.instances[index].uuid);
                       return SUCCESS;
                     });
}

EXPORT int nvmlDeviceGetGpuInstanceId(void* handle, unsigned* out) {
  return with_device("nvmlDeviceGetGpuInstanceId", handle, [&](World&, Device& device) {
    *out = device.gi;
    return device.gi == NO_INSTANCE ? ERROR_INVALID_ARGUMENT : SUCCESS;
  });
}

EXPORT int nvmlDeviceGetComputeInstanceId(void* handle, unsigned* out) {
  return with_device("nvmlDeviceGetComputeInstanceId", handle, [&](World&, Device& device) {
    *out = device.ci;
    return device.ci == NO_INSTANCE ? ERROR_INVALID_ARGUMENT : SUCCESS;
  });
}

/// Slices from the profile's name: "1c.2g.20gb" is 1 compute and 2 GPU slices.
EXPORT int nvmlDeviceGetAttributes_v2(void* handle, DeviceAttributes* out) {
  return with_device("nvmlDeviceGetAttributes_v2", handle, [&](World&, Device& device) {
    if (device.profile.empty()) return ERROR_INVALID_ARGUMENT;
    *out = {};
    unsigned compute = 0;
    unsigned slices = 0;
    if (std::sscanf(device.profile.c_str(), "%uc.%ug", &compute, &slices) != 2) {
      std::sscanf(device.profile.c_str(), "%ug", &slices);
      compute = slices;
    }
    out->gpuInstanceSliceCount = slices;
    out->computeInstanceSliceCount = compute;
    out->memorySizeMB = device.total >> 20U;
    return SUCCESS;
  });
}

}  // namespace fake_nvml
// NOLINTEND(readability-identifier-naming)
