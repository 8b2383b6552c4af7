#pragma once

#include "shim/pages.hpp"

/// This process's account of the container's memory. It is opened by the first call that needs it;
/// a child after fork() opens one of its own, without charges. Threads: safe.
namespace tangram::shim {

inline constexpr std::size_t kNoCard = kMaxCards;

/// Opens the pages and takes a slot, unless that is done. If it cannot, it writes one line that
/// says why to stderr, and does so again only in another process. It tries again only if the
/// process was out of file descriptors or memory.
/// @returns whether it is open
[[nodiscard]] bool attach();

/// The card's place in the container's limits; kNoCard = none: it has no limit. Needs attach().
[[nodiscard]] std::size_t find_card(const Uuid& uuid);

/// The driver's blocks of memory: what is larger than half of one has whole ones of its own.
inline constexpr std::uint64_t kBlockBytes = 2U << 20U;

/// Accounts bytes on a card. If the limit is reached it looks first for processes that have died.
/// @param rounding  how many of them are only what the driver rounds up to whole blocks: they may
/// go
///                  to the end of the block in which the limit lies
/// @returns false if the container would be above its limit
[[nodiscard]] bool reserve(std::size_t card, std::uint64_t bytes, std::uint64_t rounding = 0);
/// Accounts what the driver has allocated already, even above the limit.
void reserve_anyway(std::size_t card, std::uint64_t bytes);
void release(std::size_t card, std::uint64_t bytes);

struct CardMemory {
  std::uint64_t limit = 0;
  std::uint64_t available = 0;
};
/// Of the container, on a card. Needs no slot, but the pages.
[[nodiscard]] CardMemory memory_of(std::size_t card);

/// What a lease of card time needs of the pages: words that are read and changed without a lock.
struct LeasePages {
  const LimitsPage* limits = nullptr;
  UsagePage* usage = nullptr;
  std::size_t slot = 0;
};
/// Valid until a fork(), in the parent for ever. Needs attach().
[[nodiscard]] LeasePages lease_pages();

/// Calls it in a child after fork(), before anything else of this library.
void on_fork(void (*in_child)());

/// Writes a line that names the limit to stderr, if TANGRAM_LOG is set.
void log_refusal(const char* call, std::size_t card, std::uint64_t bytes);

}  // namespace tangram::shim
