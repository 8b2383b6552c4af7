#pragma once

#include "base/clock.hpp"
#include "base/sleeper.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/vendor/nvidia/mps_daemon.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tangram::node::nvidia {

/// Mode "mps": one MPS daemon for each card, which is in exclusive-process mode: whoever opens it
/// first has it alone. That is the daemon's server, which starts before any container does. The
/// server limits memory and compute of every client to the largest share of the card that is
/// granted to a container. Below that it goes by the limits in the client's environment, which a
/// program can unset: MPS has no limit for a single client.
///
/// With MpsSettings::sm_partitions, compute is divided into static SM partitions instead, and the
/// server's limit is of memory only. A partition is reserved for a container, but not enforced from
/// outside: a program that knows the id of another one can name it. A container then reaches only
/// the daemon that has made its partition, and has to start again after another has taken its
/// place.
///
/// A limit that was lowered leaves the clients alone that are connected already. The limits apply
/// to each process, not to the container: a container with two processes can use its share twice
/// (memory: until the card is full). All clients of a card share its server: a fault that one
/// client causes can end the others.
///
/// A running daemon of an earlier agent is adopted, unless it divides compute otherwise; one whose
/// folders clients could write (MpsFolders::former()) is ended, because it would keep the next
/// one's server off the card. A daemon that has ended, or does not answer for more than a minute,
/// is replaced, at once, then after 1 s, 2 s, … 64 s. Its clients end; their containers restart and
/// connect to the new one. A daemon whose server has ended keeps running and is told to start
/// another, after the same pauses. Until the next maintain() finds that one, nobody is known to
/// hold the card.
class MpsEnforcer final : public Enforcer {
 public:
  MpsEnforcer(CardSource& source, Programs& programs, const Clock& clock, MpsSettings settings,
              Sleeper sleeper = sleep_until_stopped);

  /// One card: each has a daemon, and a client uses only one.
  [[nodiscard]] Result<void> accept(const std::vector<model::GrantedCard>& cards) const override;

  Result<void> prepare(const std::string& card, const CardSharers& sharers) override;

  [[nodiscard]] Result<ContainerEdits> edits(
      std::string_view allocation, const std::vector<model::GrantedCard>& cards) const override;

  /// Also counts the containers that were prepared less than a minute ago: a pod that the watch
  /// does not have yet has no claim. Each of them counts for itself, so that the limits of the
  /// others can be lowered.
  void keep(const CardsInMode& cards) override;
  Result<void> release(const std::string& card) override;
  void maintain() override;
  [[nodiscard]] Enforcement enforcement(const model::GrantedCard& part) const override;

 private:
  struct Fresh {
    TimePoint until;
    Ceiling ceiling;  ///< of the card when it was prepared
    MilliGpu compute;
  };
  struct State {
    State(const MpsSettings& settings, const std::string& card, Programs& programs)
        : daemon(settings, card, programs) {}

    std::mutex mutex;  ///< of all below but the atomic ones; held during calls of the daemon
    MpsDaemon daemon;
    std::atomic<bool> ready{false};  ///< as far as is known, a server holds the card
    std::atomic<MpsLimits> held{};   ///< what its server lets any client have; 0 = not known
    bool released = false;           ///< not in the map any more
    std::map<std::string, Fresh, std::less<>> fresh;  ///< allocations, prepared since keep()
    std::set<std::string, std::less<>> kept;          ///< allocations, of the last keep()
    bool swept = false;  ///< no SM partition is known to be left that no container has
    Ceiling ceiling;     ///< of the containers that share the card
    int misses = 0;      ///< times in a row that there was no daemon
    int unknown = 0;     ///< times in a row that the check timed out
    int failures = 0;    ///< starts that failed in a row
    TimePoint next_try;
    Error last_error;
  };
  using StatePtr = std::shared_ptr<State>;

  StatePtr state_of(const std::string& card);
  std::map<std::string, StatePtr> states() const;
  Result<void> set_up(const std::string& card, State& state);
  Result<void> start_daemon(const std::string& card, State& state);
  Result<void> replace_daemon(const std::string& card, State& state);
  static Result<void> start_server(State& state);
  static Result<void> open_to_clients(State& state);
  static Result<void> hold_to_ceiling(State& state);
  Result<void> admit(State& state, const CardSharers& sharers) const;
  void add_fresh(State& state, const CardSharers& sharers) const;
  [[nodiscard]] CardSharers with_fresh(State& state, CardSharers sharers) const;
  static void keep_partitions(State& state, const CardSharers& sharers);
  void keep(State& state, const CardSharers& sharers) const;
  static bool still_holds(const std::string& card, State& state);
  void maintain(const std::string& card, State& state);
  /// The folders of daemons that an earlier agent started, once.
  void adopt_folders_once();
  Result<void> give_back(const std::string& card, State& state);

  CardSource& source_;
  Programs& programs_;
  const Clock& clock_;
  const MpsSettings settings_;
  const Sleeper sleeper_;

  mutable std::mutex mutex_;  ///< of the map and the flag
  std::map<std::string, StatePtr> states_;
  bool adopted_folders_ = false;
};

}  // namespace tangram::node::nvidia
