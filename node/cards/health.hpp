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

/// What faults mean. XIDs are NVIDIA's error numbers; those in neither list make a card sick for
/// the hold. From NVIDIA's Xid catalog (docs.nvidia.com/deploy/xid-errors) and the list that its
/// own device plugin ignores.
struct HealthRules {
  /// The application's own doing, or only a sequel: a graphics exception (13), a page fault (31), a
  /// channel reset (43), clean-up after another error (45), a decoder exception (68), a context
  /// switch that timed out (109).
  std::set<std::uint64_t> ignored_xids{13, 31, 43, 45, 68, 109};

  /// Those for which the catalog asks for a reset at once, which time does not replace: the card
  /// stopped processing (46), an uncorrectable memory error (48, 140) that was not contained (95),
  /// firmware that halted (62, 119, 120), a row that could not be remapped (64), NVLink (74), off
  /// the bus (79), not initialised (143). A contained memory error (94) only costs its application.
  std::set<std::uint64_t> reset_xids{46, 48, 62, 64, 74, 79, 95, 119, 120, 140, 143};

  /// Without a further fault for so long a card counts as well again. Long enough that the restart
  /// of what a fault killed (kubelet backs off for 5 minutes at most) tries the card once more
  /// before new pods get it, short enough that nobody needs to put it back by hand.
  std::chrono::minutes hold{10};
};

/// Why a card takes no new pods. The whole set: reasons without numbers, which do not change while
/// the state does not.
inline constexpr std::string_view kDriverSilent = "the driver does not answer";
inline constexpr std::string_view kNotListed = "the driver does not list this card any more";
inline constexpr std::string_view kNeedsReset =
    "the card reported a fault that only a reset mends; see its XID in the agent's log";
inline constexpr std::string_view kRecentFault = "the card reported a fault a short while ago";
inline constexpr std::string_view kCameBack = "the card came back a short while ago";

/// Judges the cards of one machine from what was seen of them.
///
///     well --fault--> held --no fault for the hold--> well
///       |--fault that asks for a reset--> held until a reset --the reset was seen--> held
///       '--not listed--> lost --listed again--> held
///
/// That a card was reset is seen in three ways: it was not listed for a while; the driver did not
/// answer for a while; the agent was restarted. The last because nvidia-smi resets no card that a
/// monitoring program has open, as the agent has them all: who resets a card stops the agent first.
/// A card that was sick before a restart is therefore held, whatever it was sick of, and one that
/// was not really reset says so at its next use. While the driver is silent all cards are sick;
/// that alone is no fault of theirs, so they are well as soon as it answers.
///
/// Pure: time comes with the calls, and never goes back. Threads: one at a time.
class HealthTracker {
 public:
  /// @param previous the cards as the agent last published them, before it was restarted
  HealthTracker(HealthRules rules, const std::vector<model::Card>& previous, TimePoint now);

  void on_fault(const Fault& fault, TimePoint now);
  /// The source answered, with these cards.
  void on_listed(const std::set<std::string>& cards, TimePoint now);
  void on_silence();

  /// @returns why the card takes no new pods; empty = it is well
  [[nodiscard]] std::string_view trouble(const std::string& card, TimePoint now) const;

 private:
  struct State {
    bool listed = true;
    bool needs_reset = false;
    std::optional<TimePoint> held_until;
    std::string_view held_for;
  };

  void hold(State& state, std::string_view reason, TimePoint now);
  void on_fault_of(State& state, const Fault& fault, TimePoint now);

  const HealthRules rules_;
  bool answers_ = false;
  std::map<std::string, State> cards_;
};

}  // namespace tangram::node
