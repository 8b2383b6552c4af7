#pragma once

#include "base/result.hpp"
#include "node/hook/memory_limiter.hpp"

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

}  // namespace tangram::node::nvidia
