// A card's memory, as the container's share of it.

#include "shim/forward.hpp"
#include "shim/nvml/calls.hpp"
#include "shim/nvml/container.hpp"

namespace tangram::shim::nvml {
namespace {

constinit DriverFunction<int(Device, Memory*)> driver_memory{"nvmlDeviceGetMemoryInfo"};
constinit DriverFunction<int(Device, MemoryV2*)> driver_memory_v2{"nvmlDeviceGetMemoryInfo_v2"};

constexpr std::uint32_t kMemoryVersion = version_of<MemoryV2>(2);

}  // namespace

// The driver is asked first, and what it refuses is refused in its words; it writes to a place of
// the stand-in's own, so that the caller never sees the whole card in between.
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's

TANGRAM_NVML int nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  if (memory == nullptr) return driver_memory(device, nullptr);
  Memory whole{};
  if (const int code = driver_memory(device, &whole); code != kSuccess) return code;
  const ContainerCard card(device);
  if (card.code() != kSuccess) return card.code();
  *memory = card.is_limited() ? card.memory() : whole;
  return kSuccess;
}

TANGRAM_NVML int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory == nullptr) return driver_memory_v2(device, nullptr);
  // A version that is not known here could be of a longer structure: the driver refuses 0.
  MemoryV2 whole{memory->version == kMemoryVersion ? kMemoryVersion : 0, 0, 0, 0, 0};
  if (const int code = driver_memory_v2(device, &whole); code != kSuccess) return code;
  const ContainerCard card(device);
  if (card.code() != kSuccess) return card.code();
  if (card.is_limited()) {
    const Memory share = card.memory();
    whole = {whole.version, share.total, 0, share.free, share.used};
  }
  *memory = whole;
  return kSuccess;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace tangram::shim::nvml
