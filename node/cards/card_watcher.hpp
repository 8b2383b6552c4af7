#pragma once

#include "base/sleeper.hpp"
#include "node/cards/cards_now.hpp"
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
  /// Cards are asked for so often, and at once after a fault. Losing a card shows as a fault first;
  /// this is for instances made and destroyed, and for drivers that report no events. NVIDIA's
  /// node labels are refreshed every minute.
  std::chrono::milliseconds poll{30'000};
  /// The longest stay in the source at a time, as in NVIDIA's plugin: bounds how long a stop takes.
  std::chrono::milliseconds wait{5'000};
  HealthRules health;
  /// The cards as they were published before the agent was restarted, read back from the node's
  /// annotation: what was sick stays so for a while (see HealthTracker), and where the driver does
  /// not answer at once, the node does not seem to have lost its cards. Empty = the first start.
  std::vector<model::Card> previous;
};

/// Knows the cards of this machine and how they are: asks the source, listens for its faults, and
/// judges. A card that the source does not list any more stays in the list, sick, until
/// forget_lost(): a container may still hold it.
///
/// Threads: run() has one of its own, in which the source may hang; the others are safe.
class CardWatcher {
 public:
  /// The XIDs that were reported, ignored ones too: by card and number. Under "" those that named
  /// no card.
  using XidCounts = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;

  /// @param on_change called on run()'s thread after now() changed, the first time with the first
  ///                  answer of the source, whatever it is
  CardWatcher(CardSource& source, CardWatcherOptions options, const Clock& clock,
              std::function<void()> on_change, Sleeper sleeper = sleep_until_stopped);

  /// Watches until stop.
  void run(const std::stop_token& stop);

  /// One round of it: asks if that is due, then waits for faults.
  void step(const std::stop_token& stop);

  /// Never null. Before the first answer: the previous cards, all of them sick.
  [[nodiscard]] CardsPtr now() const;

  [[nodiscard]] XidCounts xid_counts() const;

  /// Drops lost cards but those that are still granted to some pod of this node; now() follows with
  /// the next round.
  void forget_lost(const std::set<std::string>& granted);

 private:
  void ask();
  void take(const std::vector<Fault>& faults);
  void adopt(Inventory found);
  /// Judges all cards, and tells if something changed.
  void publish();

  CardSource& source_;
  const CardWatcherOptions options_;
  const Clock& clock_;
  const std::function<void()> on_change_;
  const Sleeper sleeper_;

  // Of run()'s thread.
  std::optional<TimePoint> last_poll_;
  std::optional<TimePoint> next_poll_;  ///< none = at once
  bool told_ = false;                   ///< on_change_ was called once

  mutable std::mutex mutex_;  ///< never held in a call of the source or of on_change_
  HealthTracker health_;
  CardsNow known_;              ///< cards as listed, those lost at the end; unjudged
  std::set<std::string> lost_;  ///< of known_
  XidCounts xids_;
  CardsPtr now_;
};

}  // namespace tangram::node
