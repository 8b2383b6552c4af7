#pragma once

#include "base/result.hpp"
#include "node/lease/arbiter.hpp"
#include "shim/pages.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tangram::node::lease {

/// The pages of a container, for one of its cards: how the agent opens and closes its turn, and
/// sees what it does. The container can write anything to its usage page and can cut it, at any
/// moment: so it is read by system calls, and no more than 64 processes at a time.
///
/// Threads: one at a time.
class ContainerPages {
 public:
  /// @param limits  the file of its limits page, which only the agent writes
  /// @param usage   the file of its usage page
  /// @param card    its place in the limits page
  /// @returns kUnavailable if a file cannot be read or is no such page
  static Result<ContainerPages> open(const std::string& limits, const std::string& usage,
                                     std::size_t card);
  ContainerPages(ContainerPages&& other) noexcept;
  ContainerPages& operator=(ContainerPages&& other) noexcept;
  ContainerPages(const ContainerPages&) = delete;
  ContainerPages& operator=(const ContainerPages&) = delete;
  /// The container's turn on the card is free from then on.
  ~ContainerPages();

  /// From now on the container has turns.
  void set_open(bool open);
  /// Shows the container that the agent is there.
  void beat();

  /// What its processes do. Dead ones, whose lock the kernel has freed, do nothing.
  [[nodiscard]] Sight look();

  /// Changes when a process begins to wait or has ended its work.
  [[nodiscard]] std::uint32_t news() const;
  /// Waits until that is not this value, or for a millisecond.
  void wait_for_news(std::uint32_t known) const;

 private:
  ContainerPages() = default;
  [[nodiscard]] shim::CardLimit& limit() const { return limits_->cards[card_]; }
  void add(Sight& sight, std::size_t slot);
  void close();

  shim::LimitsPage* limits_ = nullptr;
  const shim::UsagePage* usage_ = nullptr;  ///< never read: its address is waited at
  int usage_fd_ = -1;
  std::size_t card_ = 0;
  std::size_t first_slot_ = 0;                    ///< to look at
  std::map<std::size_t, std::uint64_t> busy_ns_;  ///< by slot, when it was looked at
  std::uint32_t turn_ = shim::kTurnFree;
};

}  // namespace tangram::node::lease
