#pragma once

#include "base/result.hpp"
#include "shim/pages.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::node {

/// An account of the usage page, as it was read. The container wrote it: it may be anything.
struct ReadAccount {
  std::uint64_t bytes = 0;
  std::uint64_t busy_ns = 0;
  std::uint32_t launches = 0;
  std::uint32_t in_flight = 0;
  std::uint32_t waiting = 0;
  std::uint32_t batch_us = 0;
};

/// The open pages of an allocation (shim/pages.hpp), as the agent uses them.
///
/// The limits page is the agent's. The usage page is the container's, which can write anything to
/// it, and cut it at any moment: so it is only read, by system calls. It is opened without waiting,
/// and for writing, so that the container can take no lease on the file.
///
/// Threads: safe.
class AllocationPages {
 public:
  /// All turns are free from then on: an agent that was killed may have left them closed. So pages
  /// are opened once, and whoever needs them shares them.
  /// @param folder  with the files `limits` and `usage`
  /// @returns kUnavailable if there are no such pages of this version, or they cannot be opened now
  static Result<std::shared_ptr<AllocationPages>> open(const std::string& folder);
  ~AllocationPages();
  AllocationPages(const AllocationPages&) = delete;
  AllocationPages& operator=(const AllocationPages&) = delete;

  [[nodiscard]] shim::LimitsPage& limits() const { return *limits_; }
  /// Of a card in the pages; nothing if it is not there.
  [[nodiscard]] std::optional<std::size_t> place_of(std::string_view card) const;

  /// By slot, whether a process has taken it; zeros if the container has cut the page.
  using Taken = std::array<std::uint8_t, shim::kMaxProcesses>;
  [[nodiscard]] Taken taken() const;
  /// Zeros if the container has cut the page.
  [[nodiscard]] ReadAccount account(std::size_t slot, std::size_t place) const;
  /// Has the slot a process? Takes long if the container has locked many bytes: see Effort.
  [[nodiscard]] bool is_alive(std::size_t slot) const;

  /// Changes when a process begins to wait for its turn on a card, or has ended its work there.
  [[nodiscard]] std::uint32_t lease_news(std::size_t place) const;
  /// Waits until that is not this value, or for a millisecond.
  void wait_for_lease_news(std::size_t place, std::uint32_t known) const;

  /// Cuts the usage page to its size: what a container writes beyond it lies in the host's memory.
  /// @returns false if the container has cut it short or destroyed its header, or it cannot be cut:
  ///          nothing can use it
  [[nodiscard]] bool cut_to_size() const;

 private:
  AllocationPages() = default;

  shim::LimitsPage* limits_ = nullptr;
  int usage_fd_ = -1;
  const shim::UsagePage* usage_ = nullptr;  ///< never read: its address is waited at
};

/// A bound of the agent's work for one container. By the time that the thread has worked, so that
/// other work of the machine does not count.
class Effort {
 public:
  explicit Effort(std::chrono::nanoseconds most);
  [[nodiscard]] bool is_spent() const { return spent() >= most_; }
  [[nodiscard]] std::chrono::nanoseconds spent() const;

 private:
  const std::chrono::nanoseconds most_;
  const std::chrono::nanoseconds begin_;
};

}  // namespace tangram::node
