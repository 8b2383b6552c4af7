// How busy single processes keep a card.
//
// The driver knows that by its own pids only, which cannot be told from other tenants' (see
// processes.cpp), and the container's pages do not have it. "No sample" would say that its
// processes are idle, so the answer is that it is not supported.

#include "shim/forward.hpp"
#include "shim/nvml/abi.hpp"
#include "shim/nvml/calls.hpp"

namespace tangram::shim::nvml {
namespace {

constinit DriverFunction<int(Device, void*, unsigned*, std::uint64_t)> driver_utilization{
    "nvmlDeviceGetProcessUtilization"};
constinit DriverFunction<int(Device, ProcessesUtilization*)> driver_utilization_info{
    "nvmlDeviceGetProcessesUtilizationInfo"};

constexpr std::uint32_t kUtilizationVersion = version_of<ProcessesUtilization>(1);

/// Errors are passed on; whether there are samples is not.
int without_samples(int code) {
  const bool is_about_samples = code == kSuccess || code == kInsufficientSize || code == kNotFound;
  return is_about_samples ? kNotSupported : code;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's

TANGRAM_NVML int nvmlDeviceGetProcessUtilization(Device device, void* samples, unsigned* count,
                                                 unsigned long long last_seen) {
  if (count == nullptr) return driver_utilization(device, samples, nullptr, last_seen);
  unsigned no_room = 0;
  return without_samples(driver_utilization(device, nullptr, &no_room, last_seen));
}

TANGRAM_NVML int nvmlDeviceGetProcessesUtilizationInfo(Device device, ProcessesUtilization* info) {
  if (info == nullptr) return driver_utilization_info(device, nullptr);
  // A version that is not known here could be of a longer structure: the driver refuses 0.
  const std::uint32_t version = info->version == kUtilizationVersion ? kUtilizationVersion : 0;
  ProcessesUtilization no_room{version, 0, info->last_seen, nullptr};
  return without_samples(driver_utilization_info(device, &no_room));
}

// NOLINTEND(readability-identifier-naming)

}  // namespace tangram::shim::nvml
