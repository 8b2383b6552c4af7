#pragma once

#include "base/clock.hpp"
#include "model/card.hpp"
#include "node/cards/card_source.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Why a card takes no new pods: every reason of the agent's own. They contain no numbers, so that
/// they change only with the state.
inline constexpr std::string_view kDriverNotAnswering = "the driver does not answer";
inline constexpr std::string_view kNotListed = "the driver does not list this card any more";
/// Not reworded, because agents of earlier releases compare the whole text after a downgrade.
inline constexpr std::string_view kNeedsReset =
    "the card reported a fault that only a reset mends; see its XID in the agent's log";
inline constexpr std::string_view kRecentFault = "the card reported a fault a short while ago";
inline constexpr std::string_view kCameBack = "the card came back a short while ago";

/// What faults mean for a card. A driver error in neither list makes it unhealthy for
/// `unhealthy_time`.
struct HealthRules {
  std::string_view error_name = "error";   ///< what the vendor calls a driver error, for the log
  std::set<std::uint64_t> ignored_errors;  ///< leave the card healthy
  std::set<std::uint64_t> reset_errors;    ///< leave the card unhealthy until it was reset
  /// Of a card that needs a reset. Begins as kNeedsReset does.
  std::string_view reset_reason = kNeedsReset;

  /// After so long without another fault a card is healthy again. Long enough that the restart of
  /// a container that a fault killed (kubelet backs off for at most 5 minutes) tries the card
  /// before new pods get it; short enough that no operator needs to intervene.
  std::chrono::minutes unhealthy_time{10};
};

/// Decides which cards of one machine are healthy.
///
///     healthy --fault--> unhealthy --no fault for unhealthy_time--> healthy
///       |--fault that needs a reset--> unhealthy until a reset --reset--> unhealthy (as above)
///       '--not listed--> lost --listed again--> unhealthy (as above)
///
/// A card counts as reset after it was not listed for a while, after the driver did not answer for
/// a while, or after the agent was restarted. The last because a driver resets no card that a
/// monitoring program has open, as the agent has all of them: an operator stops the agent first. A
/// card that was unhealthy before a restart is therefore unhealthy for `unhealthy_time`, whatever
/// the reason was; one that was not really reset reports its next fault when it is used. While the
/// driver does not answer all cards are unhealthy, and they are healthy as soon as it answers.
///
/// Pure: time comes with the calls, and never goes back. Threads: one at a time.
class HealthTracker {
 public:
  /// @param previous the cards as the agent last published them, before it was restarted
  HealthTracker(HealthRules rules, const std::vector<model::Card>& previous, TimePoint now);

  void on_fault(const Fault& fault, TimePoint now);
  /// The source answered, with these cards.
  void on_listed(const std::set<std::string>& cards, TimePoint now);
  void on_no_answer() { answers_ = false; }

  /// @returns why the card takes no new pods; empty = it is healthy
  [[nodiscard]] std::string_view unhealthy_reason(const std::string& card, TimePoint now) const;

 private:
  struct State {
    bool listed = true;
    bool needs_reset = false;
    std::optional<TimePoint> unhealthy_until;
    std::string_view reason;  ///< until then
  };

  void make_unhealthy(State& state, std::string_view reason, TimePoint now);

  const HealthRules rules_;
  bool answers_ = false;
  std::map<std::string, State> cards_;
};

}  // namespace tangram::node
