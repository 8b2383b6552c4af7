#pragma once

#include "base/result.hpp"
#include "node/hook/memory_limiter.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tangram::node::nvidia {

/// Limits memory by NVIDIA's driver, r615 and newer, which accounts for all memory of a card by
/// cgroup, except managed memory. A card is named by its UUID; MIG instances are refused.
///
/// The hard limit becomes the amount. The soft limit becomes 0: memory that a soft limit keeps free
/// is added to the cgroups above, where the driver leaves it when the container's is removed.
///
/// Opening it starts a session with the driver, and check() finds the card, for which the driver
/// may attach others, too: some ms with persistence mode, seconds without. No call has a deadline:
/// the container runtime ends a hook after the `timeout` that its CDI spec gives.
///
/// @param library  path or name of libnvidia-ml.so.1
/// @returns kUnavailable      there is no driver, or one older than r615
///          kInvalidArgument  it is no driver's library
Result<std::unique_ptr<hook::MemoryLimiter>> open_memory_limiter(const std::string& library);

/// What limiters need of the machine.
struct LimiterPlaces {
  /// The path for open_memory_limiter(): a driver that is replaced has another.
  std::function<std::string()> find_nvml;
  std::string cgroups;  ///< where cgroup v2 is mounted
};

/// Sets limits on a container's cgroup and reads them back: those of NVIDIA's cards by the driver,
/// those of regions by the kernel (hook::DmemLimiter).
/// @returns as open_memory_limiter(), where a card of NVIDIA is among them, and
///          hook::limit_memory()
Result<void> set_memory_limits(const LimiterPlaces& places, const std::string& cgroup,
                               const hook::Limits& limits);

/// What a cgroup has of a card, in bytes, as the driver compares it with the limit.
/// @returns as set_memory_limits()
Result<std::uint64_t> memory_in_use(const LimiterPlaces& places, const std::string& cgroup,
                                    const std::string& card);

}  // namespace tangram::node::nvidia
