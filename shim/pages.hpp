#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// What runs inside containers: stand-in driver libraries that hold a container to its share of
/// each card. Code here needs nothing but libc, so that it loads into any image: no exceptions, no
/// constructors, no thread, no C++ runtime library.
namespace tangram::shim {

/// Where a container has its pages, and the driver's own libraries. Fixed, and not taken from the
/// environment: a container cannot change what is mounted there.
#ifndef TANGRAM_SHIM_ROOT
#define TANGRAM_SHIM_ROOT "/usr/local/tangram"
#endif
inline constexpr std::string_view kLimitsPath = TANGRAM_SHIM_ROOT "/limits";
inline constexpr std::string_view kUsagePath = TANGRAM_SHIM_ROOT "/usage";
inline constexpr std::string_view kCudaPath = TANGRAM_SHIM_ROOT "/driver/libcuda.so.1";
inline constexpr std::string_view kNvmlPath = TANGRAM_SHIM_ROOT "/driver/libnvidia-ml.so.1";

/// Cards of one container: the largest NVIDIA machines have 16.
inline constexpr std::size_t kMaxCards = 16;
/// Processes of one container that use cards at the same time.
inline constexpr std::size_t kMaxProcesses = 1024;

/// Of both pages. A layout once released never changes: a container keeps its library while the
/// agent that writes its pages is upgraded.
inline constexpr std::uint32_t kPageVersion = 1;
inline constexpr std::uint64_t kLimitsMagic = 0x314d494c524754U;  // "TGRLIM1"
inline constexpr std::uint64_t kUsageMagic = 0x31455355524754U;   // "TGRUSE1"

using Uuid = std::array<std::uint8_t, 16>;

/// Whether a process may launch work on a card. What waits for it waits on its address (futex).
enum Turn : std::uint32_t {
  kTurnFree = 0,    ///< the card's time is not leased
  kTurnOpen = 1,    ///< it may
  kTurnClosed = 2,  ///< it waits
};

/// The limit of one card. Written by the agent, read by all processes of the container.
struct alignas(64) CardLimit {
  Uuid uuid{};  ///< of the card or MIG instance, as cuDeviceGetUuid_v2() returns it
  std::atomic<std::uint64_t> memory_bytes;  ///< the container's share, with all that is overhead
  /// Memory that the container uses on the card and no process has accounted: contexts, modules,
  /// stacks. As the agent sees it in the driver, about a second old.
  std::atomic<std::uint64_t> overhead_bytes;
  std::atomic<std::uint32_t> turn;  ///< a Turn
  /// Changes every 1 to 20 ms while the agent leases the card's time.
  std::atomic<std::uint32_t> heartbeat;
};

/// Read-only inside the container; the cards are in the order in which the container was granted
/// them.
struct LimitsPage {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t card_count = 0;
  std::atomic<std::uint32_t> leases;  ///< 0 = no card's time is leased
  alignas(64) std::array<CardLimit, kMaxCards> cards;
};

/// The bytes that all processes of the container have accounted on a card, and who changed them
/// last. Changed only by one compare-and-swap of both words: see accounts.hpp.
struct alignas(64) Total {
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> tag;  ///< (slot + 1) << 48 | sequence of the change; 0 = never changed
  /// Changes when a process begins to wait for its turn on the card or has ended all its work
  /// there. The agent waits on its address (futex).
  std::atomic<std::uint32_t> lease_news;
};

/// What one process has accounted on one card, and has done there if the card's time is leased.
/// Only the process with the slot's lock writes, except `acknowledged`.
struct alignas(64) Account {
  /// The sum of the changes up to this sequence number. Written by one compare-and-swap of both.
  alignas(16) std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> sequence;
  /// The change under way. Pending while its number is not `sequence`.
  std::atomic<std::uint64_t> intent_delta;  ///< two's complement
  std::atomic<std::uint64_t> intent_sequence;
  /// The highest number of a change that another process saw in the total before it replaced it.
  std::atomic<std::uint64_t> acknowledged;
  std::atomic<std::uint64_t> busy_ns;    ///< measured time of its launches, ever; of this slot
  std::atomic<std::uint32_t> launches;   ///< known from time to time; wraps
  std::atomic<std::uint32_t> in_flight;  ///< batches of launches that are not known to have ended
  std::atomic<std::uint32_t> waiting;    ///< threads that wait for the turn
  std::atomic<std::uint32_t> batch_us;   ///< time of the last batch that was measured
};

/// A process. Its lock is the byte of its number in the page's file, as an open file description
/// lock: the kernel frees it when the process dies.
struct alignas(64) Slot {
  std::atomic<std::int64_t> pid;  ///< in the container's PID namespace; for people
  alignas(64) std::array<Account, kMaxCards> accounts;
};

/// Writable inside the container; a file of zeros, but for the header, is a page without use.
struct UsagePage {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  alignas(64) std::array<Total, kMaxCards> totals;
  /// Slots that a process has taken and nobody has recovered since: those to look at.
  std::array<std::atomic<std::uint8_t>, kMaxProcesses> taken;
  std::array<Slot, kMaxProcesses> slots;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::is_trivially_copyable_v<Uuid> && std::is_standard_layout_v<UsagePage>);
static_assert(sizeof(Total) == 64 && sizeof(Account) == 64 && sizeof(CardLimit) == 64);
static_assert(sizeof(LimitsPage) == 64 + kMaxCards * 64);
static_assert(sizeof(UsagePage) == 64 + kMaxCards * 64 + kMaxProcesses * (1 + 64 + kMaxCards * 64));

}  // namespace tangram::shim
