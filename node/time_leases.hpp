#pragma once

#include "base/required.hpp"
#include "node/container/memory_limiters.hpp"
#include "node/lease/card_lease.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// By card, the containers whose turns are leased.
using LeasedCards = std::map<std::string, std::vector<lease::LeasedContainer>>;

struct LeasedTime {
  LeasedCards cards;
  std::set<ContainerOnCard> containers;  ///< the same, as people know them
};

/// The open pages of an allocation, as by MemoryLimiters::pages().
using PagesOf = std::function<std::shared_ptr<AllocationPages>(std::string_view)>;

/// The containers that share cards by time-slice, and that were started with the library that waits
/// for turns (MemoryLimits::kLibrary). Others on these cards run beside them, as the driver lets
/// them. A container whose pages cannot be opened now is left out.
[[nodiscard]] LeasedTime leased_time(const std::vector<CardClaim>& claims,
                                     const StartedMeans& started, const PagesOf& pages_of);

/// Keeps the leases of cards' time in step with the containers of this node. After a restart of the
/// agent it leases to those that run; a container that is gone has no part any more.
///
/// Threads: run() and update() on one, the rest from any.
class TimeLeases {
 public:
  struct Parts {
    /// As by card_claims(): a container counts until its last process has ended.
    Required<std::function<std::vector<CardClaim>()>> claims;
    Required<std::function<StartedMeans()>> started;
    Required<PagesOf> pages_of;
    /// CardLeases::set(); called at every change, on one thread.
    Required<std::function<void(const LeasedCards&)>> lease;
  };
  explicit TimeLeases(Parts parts) : parts_(std::move(parts)) {}

  /// Updates at every change, and every few seconds: nothing tells of a container's last process.
  /// All turns are free once it returns.
  void run(const std::stop_token& stop);
  /// A container is about to start, or a pod has changed.
  void changed();
  void update();

  /// Whose turns are leased now.
  [[nodiscard]] std::set<ContainerOnCard> leased() const;

 private:
  void put(LeasedTime leased);
  void wait(const std::stop_token& stop);

  const Parts parts_;
  LeasedCards now_;  ///< of run()'s thread

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  bool is_changed_ = false;           ///< under mutex_
  std::set<ContainerOnCard> leased_;  ///< under mutex_
};

}  // namespace tangram::node
