#pragma once

#include "tests/fake_nvml/world.hpp"

#include <mutex>

/// A function of NVML's: its name is to be seen from outside, and nothing else of the library.
#define EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_nvml {

using Lock = std::lock_guard<std::mutex>;

/// Runs `call(device)` under the lock if session, function and device are there.
template <class Call>
Return with_device(const char* function, void* handle, const Call& call) {
  World& world = World::the();
  const Lock lock(world.mutex);
  if (const Return bad = world.state(function); bad != SUCCESS) return bad;
  Device* device = world.find(handle);
  if (device == nullptr) return ERROR_NOT_FOUND;
  const Device* card = world.parent(*device);
  if (device->lost || (card != nullptr && card->lost)) return ERROR_GPU_IS_LOST;
  return call(world, *device);
}

template <class Call>
Return with_session(const char* function, const Call& call) {
  World& world = World::the();
  const Lock lock(world.mutex);
  if (const Return bad = world.state(function); bad != SUCCESS) return bad;
  return call(world);
}

}  // namespace fake_nvml
