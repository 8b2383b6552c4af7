#pragma once

#include "base/clock.hpp"
#include "node/lease/arbiter.hpp"
#include "node/pages/allocation_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace tangram::node::lease {

/// The pages of a container, for one of its cards: how the agent opens and closes its turn, and
/// sees what it does. What the container says may be anything, and it can make a look slow: so a
/// look is at 64 processes at most and ends after half a millisecond of work. Then the next one
/// comes later, so that looks at one container take no more than a twentieth of the thread's time.
///
/// Threads: one at a time.
class ContainerPages {
 public:
  /// @param place  of the card, in the pages
  ContainerPages(std::shared_ptr<AllocationPages> pages, std::size_t place);
  ContainerPages(ContainerPages&& other) noexcept = default;
  ContainerPages& operator=(ContainerPages&&) = delete;
  ContainerPages(const ContainerPages&) = delete;
  ContainerPages& operator=(const ContainerPages&) = delete;
  /// The container's turn on the card is free from then on.
  ~ContainerPages();

  [[nodiscard]] bool are(const AllocationPages& pages) const { return pages_.get() == &pages; }

  /// From now on the container has turns.
  void set_open(bool open);
  /// Shows the container that the agent is there.
  void beat();

  /// What its processes do. Dead ones, whose lock the kernel has freed, do nothing.
  [[nodiscard]] Sight look(TimePoint now);

  /// Changes when a process begins to wait or has ended its work.
  [[nodiscard]] std::uint32_t news() const { return pages_->lease_news(place_); }
  /// Waits until that is not this value, or for a millisecond.
  void wait_for_news(std::uint32_t known) const { pages_->wait_for_lease_news(place_, known); }

 private:
  struct Done {
    std::uint64_t busy_ns = 0;
    std::uint32_t launches = 0;
  };
  [[nodiscard]] shim::CardLimit& limit() const { return pages_->limits().cards.at(place_); }
  [[nodiscard]] std::uint32_t bit() const { return std::uint32_t{1} << place_; }
  void add(Sight& sight, std::size_t slot);

  std::shared_ptr<AllocationPages> pages_;  ///< null once moved from
  std::size_t place_;
  std::size_t first_slot_ = 0;             ///< to look at
  std::map<std::size_t, Done> last_done_;  ///< by slot, when it was looked at
  /// That were seen. Not their sum over slots: each look is at other slots of many.
  std::uint32_t launches_ = 0;
  std::uint32_t turn_ = shim::kTurnFree;
  Sight last_;  ///< but for what was measured then
  TimePoint next_look_{};
};

}  // namespace tangram::node::lease
