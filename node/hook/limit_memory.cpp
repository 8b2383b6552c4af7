#include "node/hook/limit_memory.hpp"

namespace tangram::node::hook {
namespace {

Result<void> set_and_read_back(MemoryLimiter& limiter, const std::string& cgroup,
                               const MemoryLimit& limit) {
  if (auto set = limiter.set(cgroup, limit); !set) return set.error();
  const auto in_force = limiter.read(cgroup, limit.card);
  if (!in_force) return in_force.error();
  const std::uint64_t wanted = bytes_of(limit.amount);
  if (*in_force == wanted) return {};
  return fail(
      Errc::kConflict,
      limit.card + ": a limit of " + std::to_string(wanted) + " bytes was set, and " +
          (*in_force == kNoLimit ? "none" : "one of " + std::to_string(*in_force) + " bytes") +
          " is in force; another program may have changed it, else update the driver, " +
          kLimitOtherwise);
}

}  // namespace

Result<void> limit_memory(const std::string& cgroup, const std::vector<CardLimits>& cards) {
  for (const CardLimits& each : cards) {
    for (const MemoryLimit& limit : each.limits) {
      if (auto checked = each.limiter.check(cgroup, limit.card); !checked) return checked.error();
    }
  }
  for (const CardLimits& each : cards) {
    for (const MemoryLimit& limit : each.limits) {
      if (auto set = set_and_read_back(each.limiter, cgroup, limit); !set) return set.error();
    }
  }
  return {};
}

}  // namespace tangram::node::hook
