#pragma once

#include "base/clock.hpp"
#include "base/sleeper.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/vendor/nvidia/mps_daemon.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace tangram::node {

/// Mode "mps": one MPS daemon for each card, the card in exclusive-process mode, so that nothing
/// but its server opens it. The server holds each client to the memory and the compute that the
/// client's environment says.
///
/// The limits are of each process, not of the container: one with two processes may use its share
/// twice (memory: until the card is full). And all clients of a card share its server: a client
/// that makes the card fault can take the others with it.
///
/// A daemon found running from an earlier agent is kept. One that is gone, or does not answer for
/// more than a minute, is ended and started anew, at once, then after 1 s, 2 s, … 64 s; clients
/// that it had are lost, their containers restart and find the new one.
class MpsEnforcer final : public Enforcer {
 public:
  MpsEnforcer(CardSource& source, Programs& programs, const Clock& clock, MpsSettings settings = {},
              Sleeper sleeper = sleep_until_stopped);

  Result<void> prepare(const std::string& card) override;

  /// Compute in whole per cent: a share is rounded down, below 1 up to 1. NVIDIA's server gives
  /// whole multiprocessors, and rounds itself.
  [[nodiscard]] Result<ContainerEdits> edits(
      const std::vector<model::GrantedCard>& cards) const override;

  /// A card prepared less than a minute ago stays, named or not: its first container may not have
  /// started yet.
  void keep(const std::set<std::string>& cards) override;
  Result<void> release(const std::string& card) override;
  void look_after() override;
  [[nodiscard]] Enforcement enforcement(const std::string& card) const override;

 private:
  struct State {
    State(const MpsSettings& settings, const std::string& card, Programs& programs)
        : daemon(settings, card, programs) {}

    std::mutex mutex;  ///< guards all below but `ready`; held while the daemon is dealt with
    MpsDaemon daemon;
    std::atomic<bool> ready{false};
    bool gone = false;  ///< given back: not in the map any more
    std::optional<TimePoint> prepared;
    int misses = 0;    ///< times in a row that there was no daemon
    int silent = 0;    ///< times in a row that it could not be asked
    int failures = 0;  ///< starts failed in a row
    TimePoint next_try;
    Error last_error;
  };
  using StatePtr = std::shared_ptr<State>;

  StatePtr state_of(const std::string& card);
  std::map<std::string, StatePtr> states() const;
  Result<void> bring_up(const std::string& card, State& state);
  Result<void> set_up(const std::string& card, State& state);
  void look_after(const std::string& card, State& state);
  Result<void> give_back(const std::string& card, State& state);

  CardSource& source_;
  Programs& programs_;
  const Clock& clock_;
  const MpsSettings settings_;
  const Sleeper sleeper_;

  mutable std::mutex mutex_;  ///< of the map and the flag
  std::map<std::string, StatePtr> states_;
  bool looked_for_leftovers_ = false;
};

}  // namespace tangram::node
