#pragma once

#include <cstddef>
#include <cstdint>

/// Memory pools. What counts of a pool is what it has reserved on its card, not the pointers in it:
/// freed memory stays reserved until the pool is trimmed, and is used again. A pool grows by more
/// than it is asked for, so within 32 MiB of the limit it may get nothing more. A pool that is
/// destroyed while pointers of it are in use stays accounted with their sum as long as the process
/// lives: the driver does not say when the last of them ends. One that was exported stays accounted
/// with all that it had: another process can keep that.
namespace tangram::shim::cuda {

/// Accounts every pool again by what it has reserved now. Costs one load if there are none.
void settle_pools();

/// Accounts bytes on a card. If the limit is reached, the pools first give back what they have
/// freed, then what they keep without a use.
/// @param rounding  as for reserve()
/// @returns false if the container would be above its limit
[[nodiscard]] bool reserve_or_trim(std::size_t card, std::uint64_t bytes,
                                   std::uint64_t rounding = 0);

/// Gives back what the pools of a card have reserved and do not use.
/// @param wanted  bytes; the pools keep the rest
void trim_pools(std::size_t card, std::uint64_t wanted);

/// In a child after fork().
void forget_pools();

}  // namespace tangram::shim::cuda
