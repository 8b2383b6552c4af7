// Memory limits of cgroups, which drivers have from r615 on.

#include "tests/fake_nvml/calls.hpp"

#include <filesystem>
#include <fstream>
#include <optional>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
namespace fake_nvml {

namespace {

struct Limits {
  std::uint64_t soft = 0;
  std::uint64_t hard = MEMORY_LIMIT_MAX;
};

/// Whether the driver can limit that card there.
Return judge(const World& world, const Device& device, const char* cgroup) {
  if (world.script.memory_limits.empty()) return ERROR_NOT_SUPPORTED;
  if (device.mig || device.gi != NO_INSTANCE) return ERROR_NOT_SUPPORTED;
  return std::filesystem::is_directory(cgroup) ? SUCCESS : ERROR_OPERATING_SYSTEM;
}

std::optional<Limits> recorded(const std::string& file, const Device& device,
                               const std::string& cgroup) {
  std::optional<Limits> last;
  std::ifstream in(file);
  std::string card;
  std::string folder;
  Limits limits;
  while (in >> card >> folder >> limits.soft >> limits.hard) {
    if (card == device.uuid && folder == cgroup) last = limits;
  }
  return last;
}

}  // namespace

EXPORT int nvmlDeviceSetMemoryLimits_v1(void* handle, SetMemoryLimits* limits) {
  return with_device("nvmlDeviceSetMemoryLimits_v1", handle, [&](World& world, Device& device) {
    if (device.set_limits_answer != SUCCESS) return static_cast<Return>(device.set_limits_answer);
    const Return judged = judge(world, device, limits->nameSpace);
    if (judged != SUCCESS) return judged;
    const bool bounded = limits->hardLimit != MEMORY_LIMIT_MAX;
    if (limits->softLimit > limits->hardLimit || (bounded && limits->hardLimit > device.total)) {
      return ERROR_INVALID_ARGUMENT;
    }
    std::ofstream(world.script.memory_limits, std::ios::app)
        << device.uuid << " " << limits->nameSpace << " " << limits->softLimit << " "
        << limits->hardLimit << "\n";
    return SUCCESS;
  });
}

EXPORT int nvmlDeviceGetMemoryLimits_v1(void* handle, GetMemoryLimits* limits) {
  return with_device("nvmlDeviceGetMemoryLimits_v1", handle, [&](World& world, Device& device) {
    const Return judged = judge(world, device, limits->nameSpace);
    if (judged != SUCCESS) return judged;
    const auto found = recorded(world.script.memory_limits, device, limits->nameSpace);
    if (!found) return ERROR_NOT_FOUND;
    limits->softLimit = device.kept_soft_limit.value_or(found->soft);
    limits->hardLimit = device.kept_limit.value_or(found->hard);
    limits->currentUsed = device.cgroup_used;
    return SUCCESS;
  });
}

}  // namespace fake_nvml
// NOLINTEND(readability-identifier-naming)
