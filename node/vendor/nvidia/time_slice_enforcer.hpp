#pragma once

#include "base/clock.hpp"
#include "node/cards/card_source.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/isolation/programs.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tangram::node::nvidia {

/// How long a process uses a card before the next one: the driver's classes.
enum class TimeSlice : int { kDefault = 0, kShort = 1, kMedium = 2, kLong = 3 };

/// Mode "time-slice": the processes on a card take the driver's turns of equal length, whatever
/// their shares are. It limits neither memory nor compute; where the card's time is leased, its
/// containers launch in turns by their shares (node/time_leases.hpp).
///
/// `nvidia-smi compute-policy` sets the length, for physical cards only: MIG instances have the
/// driver's default length. The driver loses the setting when it restarts, so it is repeated.
class TimeSliceEnforcer final : public Enforcer {
 public:
  TimeSliceEnforcer(CardSource& source, Programs& programs, const Clock& clock, TimeSlice length);

  Result<void> prepare(const std::string& card, const CardSharers& sharers) override;
  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view allocation, const std::vector<model::GrantedCard>& cards) const override;
  void keep(const CardsInMode& cards) override;
  Result<void> release(const std::string& card) override;
  void maintain() override;
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& part) const override;

 private:
  /// Of one card. The mutex is held while the length is set.
  struct State {
    std::mutex mutex;
    bool set = false;
    TimePoint since;
  };

  std::shared_ptr<State> state_of(const std::string& card);
  Result<void> apply(const std::string& card, State& state);
  void reset(const std::string& card, State& state);
  Result<void> set_length(const std::string& card, TimeSlice length);

  CardSource& source_;
  Programs& programs_;
  const Clock& clock_;
  const TimeSlice length_;

  mutable std::mutex mutex_;  ///< of the map
  std::map<std::string, std::shared_ptr<State>> states_;
};

}  // namespace tangram::node::nvidia
