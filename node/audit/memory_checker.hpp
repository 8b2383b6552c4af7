#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/sleeper.hpp"
#include "kube/event_series.hpp"
#include "node/audit/memory_check.hpp"
#include "node/audit/memory_meter.hpp"
#include "node/cards/card_source.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

namespace tangram::node {

/// Compares every second what containers use of shared cards, by the driver's count, with their
/// limits. What enforces a limit inside a container can be evaded: by a program that loads the
/// driver by a path of its own, and by OpenCL, Vulkan and the video engines. The driver's count has
/// all of them.
///
///     under ──over──► suspected ──over again──► over: event, counted    over ──under──► under
///       ▲                 │ under, or the driver is silent                │ the driver is silent
///       └─────────────────┘                                               └─► over
///
/// Only two looks in a row count, since a container that is restarted may have the processes of
/// both starts for a moment. While the driver does not answer, nothing is known: a suspicion ends,
/// because the looks on both sides are not in a row, and what was reported stays so, because nobody
/// saw the container under its limit. Processes outside of pods, such as an MPS server, do not
/// count.
///
/// Where containers cannot be told apart, memory_uses() says what is compared.
///
/// If so configured, the checker also ends the container's processes on the card at every look at
/// which the container is reported and over: a process that is killed may take seconds to end, and
/// another may follow. Never where it is not certain whose the processes are, nor in a container
/// without a share: its claim may have been lost with the journal.
///
/// A look costs a reading of MemoryMeter, nothing if no card is shared. Threads: run() and look()
/// on one, the rest from any. No lock is held during a call.
class MemoryChecker {
 public:
  struct Parts {
    /// As by claims_of_present(). One that was not admitted counts, too: the journal may be lost.
    Required<std::function<std::vector<CardClaim>()>> claims;
    CardSource& source;
    const Processes& processes;
    ContainerRuntime* runtime;  ///< null = none
    /// What each container uses of a card, over its limit or not.
    Required<std::function<void(const MemoryUse&)>> note_use;
    Required<std::function<void(kube::EventNote)>> report_event;
    Required<bool>
        terminates;  ///< ends the processes on the card, too, of a container that is over
    const Clock& clock;
    Sleeper sleeper = sleep_until_stopped;
  };
  explicit MemoryChecker(Parts parts);

  /// Looks until the end.
  void run(const std::stop_token& stop);
  /// Compares once.
  void look();

  /// A container above its limit.
  struct Over {
    std::string ns;
    std::string pod;
    std::string container;  ///< empty = the pod's containers together
    std::string card;
    std::uint64_t bytes = 0;  ///< above the limit
    friend bool operator==(const Over&, const Over&) = default;
  };
  struct State {
    std::vector<Over> over;  ///< that were reported and are so still
    std::uint64_t looks = 0;
    std::uint64_t failed = 0;     ///< looks at which the driver did not tell of every card
    std::uint64_t reported = 0;   ///< times that a container went over its limit
    std::uint64_t ended = 0;      ///< processes
    std::uint64_t not_ended = 0;  ///< processes that the system did not let the agent end
  };
  [[nodiscard]] State state() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< card, pod UID, container
  struct Breach {
    Over now;  ///< as last seen
    bool reported = false;
    std::set<std::int64_t> ended;      ///< processes, each counted once
    std::set<std::int64_t> not_ended;  ///< the same
  };
  void judge(const std::vector<MemoryUse>& uses, const std::string& card);
  void judge(const MemoryUse& use, Breach& breach);
  void keep_unanswered(const std::string& card, const std::vector<CardClaim>& claims);
  void report(const MemoryUse& use);
  [[nodiscard]] bool is_to_end(const MemoryUse& use) const;
  void end_processes(const MemoryUse& use, Breach& breach);
  void publish(bool complete);

  const Parts parts_;
  // Of run()'s thread.
  MemoryMeter meter_;
  std::map<Key, Breach> breaches_;  ///< only of pods that have claims

  mutable std::mutex mutex_;
  State state_;  ///< under mutex_
};

}  // namespace tangram::node
