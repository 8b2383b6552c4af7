#include "node/vendor/nvidia/driver_limiter.hpp"

#include "node/vendor/nvidia/stand_in/edits.hpp"

#include <vector>

namespace tangram::node::nvidia {
namespace {

Result<hook::Limits> limits_of(const std::vector<model::GrantedCard>& cards) {
  hook::Limits limits;
  for (const model::GrantedCard& card : cards) {
    limits.nvidia.push_back({.card = card.uuid, .amount = card.memory_limit});
  }
  return limits;
}

Result<std::vector<std::string>> arguments_of(const CdiEdits& vendor) {
  const auto nvml = host_path_of(vendor, "libnvidia-ml.so");
  if (!nvml) return nvml.error();
  return std::vector<std::string>{"--nvml", *nvml};
}

HookedDriver driver_by(const LimiterPlaces& places) {
  return {.limits = limits_of,
          .arguments = arguments_of,
          .set =
              [places](const std::string& cgroup, const hook::Limits& limits) {
                return set_memory_limits(places, cgroup, limits);
              },
          .in_use =
              [places](const std::string& cgroup, const hook::Limits& limits) {
                return memory_in_use(places, cgroup, limits.nvidia.at(0).card);
              }};
}

}  // namespace

DriverLimiter::DriverLimiter(const Places& places)
    : HookLimiter({.hook = places.hook, .folder = places.folder, .cgroups = places.limiter.cgroups},
                  driver_by(places.limiter)) {}

}  // namespace tangram::node::nvidia
