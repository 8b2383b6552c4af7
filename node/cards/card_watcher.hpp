#pragma once

#include "base/sleeper.hpp"
#include "node/cards/card_source.hpp"
#include "node/cards/health.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tangram::node {

struct CardWatcherOptions {
  /// From one inventory to the next; after a fault it follows at once. A lost card shows as a fault
  /// first: this is for instances made and destroyed, and for drivers that report no events.
  std::chrono::milliseconds poll{30'000};
  /// The longest stay in the source at a time: bounds how long a stop takes.
  std::chrono::milliseconds wait{5'000};
  HealthRules health;
  /// The strongest means of memory limits to be used; nothing = the strongest that a card offers.
  std::optional<model::MemoryLimits> memory_limits;
  /// The cards as they were published before the agent was restarted, from the node's annotation:
  /// unhealthy cards stay so for a while (see HealthTracker), and while the driver does not answer
  /// yet, the node keeps its cards. Empty = the first start.
  std::vector<model::Card> previous;
};

/// Watches the cards of this machine and their health: polls the source and waits for its faults.
/// A card that the source does not list any more stays in the list, unhealthy, until forget_lost():
/// a container may still use it.
///
/// Threads: run() has one of its own, in which the source may block; the others are safe.
class CardWatcher {
 public:
  /// Driver errors, ignored ones too, by card and number. "" = without a card.
  using ErrorCounts = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;

  /// @param on_change called on run()'s thread after now() changed, the first time with the first
  ///                  answer of the source, whatever it is
  CardWatcher(CardSource& source, CardWatcherOptions options, const Clock& clock,
              std::function<void()> on_change, Sleeper sleeper = sleep_until_stopped);

  /// Watches until stop.
  void run(const std::stop_token& stop);

  /// One round of it: polls if that is due, then waits for faults.
  void step(const std::stop_token& stop);

  /// Never null. Before the first answer: the previous cards, all of them unhealthy.
  [[nodiscard]] CardsPtr now() const;

  [[nodiscard]] ErrorCounts error_counts() const;

  /// Drops lost cards but those that are still granted to some pod of this node; now() follows with
  /// the next round.
  void forget_lost(const std::set<std::string>& granted);

 private:
  void poll();
  void take(const std::vector<Fault>& faults);
  void adopt(Inventory found);
  /// Sets the card's means, and warns once if the one that the operator names is not offered.
  void choose_memory_limits(InstalledCard& card);
  /// Determines the health of all cards, and calls on_change_ if something changed.
  void publish();

  CardSource& source_;
  const CardWatcherOptions options_;
  const Clock& clock_;
  const std::function<void()> on_change_;
  const Sleeper sleeper_;

  // Of run()'s thread.
  std::optional<TimePoint> last_poll_;
  std::optional<TimePoint> next_poll_;  ///< none = at once
  bool reported_ = false;               ///< on_change_ was called once

  mutable std::mutex mutex_;  ///< never held in a call of the source or of on_change_
  HealthTracker health_;
  CardsNow known_;              ///< cards as listed, the lost ones last; without their health
  std::set<std::string> lost_;  ///< of known_
  std::map<std::string, model::MemoryLimits> weaker_;  ///< reported: cards below the setting
  ErrorCounts errors_;
  CardsPtr now_;
};

}  // namespace tangram::node
