// What happens on cards: memory, compute mode, events.

#include "tests/fake_nvml/calls.hpp"

#include <algorithm>
#include <thread>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
namespace fake_nvml {

namespace {

std::uint64_t used(const Device& device) {
  std::uint64_t sum = 0;
  for (const Process& process : device.processes) sum += process.bytes;
  return sum;
}

}  // namespace

EXPORT int nvmlDeviceGetMemoryInfo(void* handle, Memory* out) {
  return with_device("nvmlDeviceGetMemoryInfo", handle, [&](World&, Device& device) {
    if (out == nullptr) return ERROR_INVALID_ARGUMENT;
    const std::uint64_t taken = used(device) + device.reserved;
    *out = {device.total, device.total - taken, taken};
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void* handle, MemoryV2* out) {
  return with_device("nvmlDeviceGetMemoryInfo_v2", handle, [&](World&, Device& device) {
    if (out == nullptr) return ERROR_INVALID_ARGUMENT;
    if (out->version != MEMORY_V2) return ERROR_ARGUMENT_VERSION_MISMATCH;
    const std::uint64_t taken = used(device);
    *out = {MEMORY_V2, device.total, device.reserved, device.total - device.reserved - taken,
            taken};
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetUtilizationRates(void* handle, Utilization* out) {
  return with_device("nvmlDeviceGetUtilizationRates", handle, [&](World&, Device& device) {
    if (!device.utilization) return ERROR_NOT_SUPPORTED;
    *out = {*device.utilization, 0};
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetComputeMode(void* handle, int* out) {
  return with_device("nvmlDeviceGetComputeMode", handle, [&](World& world, Device& device) {
    *out = world.compute_modes[device.uuid];
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceSetComputeMode(void* handle, int mode) {
  return with_device("nvmlDeviceSetComputeMode", handle, [&](World& world, Device& device) {
    if (device.mig || device.gi != NO_INSTANCE) return ERROR_NOT_SUPPORTED;
    world.compute_modes[device.uuid] = mode;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetSupportedEventTypes(void* handle, unsigned long long* out) {
  return with_device("nvmlDeviceGetSupportedEventTypes", handle, [&](World&, Device& device) {
    *out = device.event_types;
    return SUCCESS;
  });
}

EXPORT int nvmlEventSetCreate(void** out) {
  return with_session("nvmlEventSetCreate", [&](World&) {
    *out = new EventSet;
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceRegisterEvents(void* handle, unsigned long long types, void* set) {
  return with_device("nvmlDeviceRegisterEvents", handle, [&](World&, Device& device) {
    if (device.gi != NO_INSTANCE || (types & ~device.event_types) != 0) return ERROR_NOT_SUPPORTED;
    static_cast<EventSet*>(set)->types_by_card[device.uuid] |= types;
    return SUCCESS;
  });
}

EXPORT int nvmlEventSetWait_v2(void* set, EventData* out, unsigned timeout_ms) {
  World& world = World::the();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    {
      const Lock lock(world.mutex);
      if (const Return bad = world.state("nvmlEventSetWait_v2"); bad != SUCCESS) return bad;
      const EventSet& events = *static_cast<EventSet*>(set);
      if (world.take_event(events, *out)) return SUCCESS;
      for (const auto& [uuid, types] : events.types_by_card) {
        const Device* card = world.find_uuid(uuid);
        if (card != nullptr && card->lost) return ERROR_GPU_IS_LOST;
      }
    }
    if (std::chrono::steady_clock::now() >= end) return ERROR_TIMEOUT;
    // Looks again soon, for the file may change: nothing tells it so.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

EXPORT int nvmlEventSetFree(void* set) {
  delete static_cast<EventSet*>(set);
  return SUCCESS;
}

}  // namespace fake_nvml
// NOLINTEND(readability-identifier-naming)
