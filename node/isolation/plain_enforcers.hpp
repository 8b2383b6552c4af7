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

namespace tangram::node {

/// Mode "none": pods share a card on trust. Nothing is set up and nothing held to.
class NoneEnforcer final : public Enforcer {
 public:
  Result<void> prepare(const std::string& card) override;
  [[nodiscard]] Result<ContainerEdits> edits(
      const std::vector<model::GrantedCard>& cards) const override;
  void keep(const std::set<std::string>& cards) override;
  Result<void> release(const std::string& card) override;
  void look_after() override;
  [[nodiscard]] Enforcement enforcement(const std::string& card) const override;
};

/// How long a process may use a card before the next one's turn: the driver's own classes.
enum class TimeSlice : int { kDefault = 0, kShort = 1, kMedium = 2, kLong = 3 };

/// Mode "time-slice": the driver lets the processes on a card take turns, each as long as the
/// others, whatever their shares are. It holds nobody to a share of memory.
///
/// The length is set by `nvidia-smi compute-policy`, for physical cards only: MIG instances take
/// turns too, of the driver's default length. The setting is lost when the driver restarts, so it
/// is made anew now and then.
class TimeSliceEnforcer final : public Enforcer {
 public:
  TimeSliceEnforcer(CardSource& source, Programs& programs, const Clock& clock, TimeSlice length);

  Result<void> prepare(const std::string& card) override;
  [[nodiscard]] Result<ContainerEdits> edits(
      const std::vector<model::GrantedCard>& cards) const override;
  void keep(const std::set<std::string>& cards) override;
  Result<void> release(const std::string& card) override;
  void look_after() override;
  [[nodiscard]] Enforcement enforcement(const std::string& card) const override;

 private:
  /// One card's; its mutex is held while the driver is told.
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

/// MIG instances are named so by NVIDIA's driver.
bool is_mig(const std::string& card);

}  // namespace tangram::node
