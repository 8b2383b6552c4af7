#pragma once

#include "base/clock.hpp"
#include "node/lease/arbiter.hpp"
#include "node/lease/container_pages.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace tangram::node::lease {

/// A container that shares a card by time.
struct LeasedContainer {
  std::string name;  ///< one that no other container has, now or later
  std::shared_ptr<AllocationPages> pages;
  std::size_t place = 0;  ///< of the card, in the pages
  TimeShare time;
  friend bool operator==(const LeasedContainer&, const LeasedContainer&) = default;
};

/// Is there anything to hold: several containers, or a limit?
[[nodiscard]] bool needs_lease(const std::vector<LeasedContainer>& containers);

/// Gives the containers of one card their turns, on a thread of its own: looks at them every
/// millisecond while one wants the card, else every 20 ms, and at once when the one that has the
/// turn says that it has ended. Once it is destroyed all turns are free.
///
/// Threads: set() is safe.
class CardLease {
 public:
  /// @param clock  outlives it
  explicit CardLease(const Clock& clock);
  ~CardLease();
  CardLease(const CardLease&) = delete;
  CardLease& operator=(const CardLease&) = delete;

  /// The containers of the card from now on.
  void set(const std::vector<LeasedContainer>& containers);

 private:
  void run(const std::stop_token& stop);
  void adopt(const std::vector<LeasedContainer>& containers);
  void round();
  void wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);

  const Clock& clock_;
  std::mutex mutex_;  ///< of the next three; not held while the thread waits at a page
  std::condition_variable_any changed_;
  std::vector<LeasedContainer> wanted_;
  bool is_new_ = false;

  // Of the thread.
  Arbiter arbiter_;
  std::map<std::string, ContainerPages> pages_;
  std::uint32_t news_ = 0;  ///< of the holder, before it was looked at
  TimePoint last_round_{};
  TimePoint last_beat_{};

  std::jthread thread_;  ///< last: ends before what it uses
};

/// The leases of all cards of this node. Threads: one at a time.
class CardLeases {
 public:
  /// @param clock  outlives it
  explicit CardLeases(const Clock& clock) : clock_(clock) {}

  /// By card, the containers that share it by time. Cards of one unlimited container are not
  /// leased: name them or not.
  void set(const std::map<std::string, std::vector<LeasedContainer>>& containers);

 private:
  const Clock& clock_;
  std::map<std::string, CardLease> cards_;
};

}  // namespace tangram::node::lease
