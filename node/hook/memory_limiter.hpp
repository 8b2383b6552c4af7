#pragma once

#include "base/result.hpp"
#include "base/units.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tangram::node::hook {

/// What the processes of a container may take of one card's memory.
struct MemoryLimit {
  std::string card;  ///< as the limiter names it: a UUID, or a region of the kernel's
  Mebibytes amount;

  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// All limits of a container.
struct Limits {
  std::vector<MemoryLimit> nvidia;  ///< of NVIDIA's cards, by UUID
  std::vector<MemoryLimit> dmem;    ///< by region; see DmemLimiter

  friend bool operator==(const Limits&, const Limits&) = default;
};

[[nodiscard]] constexpr std::uint64_t bytes_of(Mebibytes amount) {
  return static_cast<std::uint64_t>(amount.count()) << 20U;
}

/// What read() returns where no limit is in force.
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The end of sentences about a driver or a node that cannot limit memory.
inline constexpr const char* kLimitOtherwise =
    "or limit memory with the library (--memory-limits=library)";

/// Limits how much of a card's memory the processes of a cgroup can take, by a driver or the
/// kernel. A message names the card and says what to change; it is shown in the event of the pod.
///
/// The limit ends with its cgroup and is never removed. Call check() first, once for each card.
/// Threads: one.
class MemoryLimiter {
 public:
  virtual ~MemoryLimiter() = default;

  /// Whether the card can be limited on that cgroup. Changes nothing.
  [[nodiscard]] virtual Result<void> check(const std::string& cgroup, const std::string& card) = 0;
  /// Replaces the limit of the card.
  [[nodiscard]] virtual Result<void> set(const std::string& cgroup, const MemoryLimit& limit) = 0;
  /// The limit in force, in bytes; kNoLimit if there is none.
  [[nodiscard]] virtual Result<std::uint64_t> read(const std::string& cgroup,
                                                   const std::string& card) = 0;
  /// What the cgroup's processes have of the card, in bytes, as it is compared with the limit.
  [[nodiscard]] virtual Result<std::uint64_t> in_use(const std::string& cgroup,
                                                     const std::string& card) = 0;
};

}  // namespace tangram::node::hook
