#pragma once

#include "base/clock.hpp"
#include "base/required.hpp"
#include "base/sleeper.hpp"
#include "kube/event_series.hpp"
#include "node/container/journal.hpp"
#include "node/kubelet/checkpoint.hpp"
#include "node/kubelet/container_runtime.hpp"
#include "node/kubelet/pod_resources.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace tangram::node {

/// Ends running containers that were created without their device, and reports them.
///
/// There are two causes. Kubelet takes the device of a pod that is deleted by force while its
/// container starts, after PreStartContainer. Or the runtime ignores CDI devices. Such a container
/// sees no card if its variable hides the cards, and otherwise, under the vendor's runtime, all of
/// them. It has no limit, and runs until its pod ends.
///
/// Whoever writes a pod can make the runtime's record of its container too large to be read. Such a
/// container is reported once, left alone, and not asked for again. Of the rest those are asked for
/// first that have waited longest, and a look takes a bounded time: no container keeps the others
/// from their turn. Nor does the runtime's list of all containers that a few pods make too large:
/// then each pod of the journal is listed alone.
///
/// A runtime that has not yet read the spec of a later start gives the container the device of the
/// start before, with that one's mark. A pod could know that mark, so it counts only while the
/// container still has its slots by both of kubelet's records, its list and its checkpoint.
///
/// A container that is older than the start that was last allowed is the former one, which is about
/// to end: kubelet prepares no start before. If it runs for another minute, then the clock was set
/// back between the two, and it is judged.
///
/// Threads: run() on one, the rest from any.
class DeviceChecker {
 public:
  struct Parts {
    ContainerRuntime& runtime;
    PodLister& lister;
    Required<std::function<Result<std::vector<SlotOwner>>()>> slot_owners;  ///< checkpoint, now
    const Journal& journal;
    Required<std::function<void(kube::EventNote)>> report_event;
    const Clock& clock;
    Sleeper sleeper = sleep_until_stopped;
  };
  /// @param interval  between looks while no container starts
  DeviceChecker(Parts parts, std::chrono::milliseconds interval);

  /// Looks until the end: often after a start, else at the interval.
  void run(const std::stop_token& stop);
  /// A container is about to start.
  void started();
  /// Judges the running containers once.
  void look();

  struct Counts {
    std::uint64_t looks = 0;
    std::uint64_t failed = 0;     ///< looks at which the runtime did not tell everything
    std::uint64_t ended = 0;      ///< containers without their device
    std::uint64_t not_ended = 0;  ///< tries to end one that failed
    std::uint64_t unjudged = 0;   ///< containers of which the runtime cannot tell
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct Listing {
    std::vector<RuntimeContainer> containers;
    bool complete = true;  ///< but for what cannot be read for good
  };
  Result<Listing> list();
  Listing list_by_pod();
  bool cannot_list(const Claim& of_pod, const Error& error);
  void note_former(const std::vector<RuntimeContainer>& running,
                   const std::vector<JournalEntry>& journal);
  [[nodiscard]] const JournalEntry* due(const RuntimeContainer& container,
                                        const std::vector<JournalEntry>& journal) const;
  [[nodiscard]] std::vector<RuntimeContainer> waiting(
      const std::vector<RuntimeContainer>& running, const std::vector<JournalEntry>& journal) const;
  bool judge(const RuntimeContainer& container, const JournalEntry& entry);
  [[nodiscard]] Result<bool> has_device(const RuntimeContainer& container,
                                        const JournalEntry& entry,
                                        const std::vector<std::string>& environment) const;
  [[nodiscard]] Result<bool> has_slots(const RuntimeContainer& container,
                                       const JournalEntry& entry) const;
  bool cannot_judge(const RuntimeContainer& container, const Error& error);
  bool end(const RuntimeContainer& container);
  void forget_all_but(const std::vector<RuntimeContainer>& running);
  void note(bool complete);
  [[nodiscard]] bool looks_often() const;

  const Parts parts_;
  const std::chrono::milliseconds interval_;
  // Ids of running containers; of run()'s thread.
  std::set<std::string> judged_;                ///< or known to be unreadable
  std::map<std::string, std::uint64_t> asked_;  ///< the look that asked last for those that are not
  std::map<std::string, TimePoint> former_;     ///< since when those seem older than their start
  std::set<std::string> reported_;
  std::set<std::string> unlisted_;  ///< UIDs of pods whose containers cannot be listed
  std::string last_listed_;         ///< UID of the pod that was last listed alone
  bool by_pod_ = false;             ///< the list of all was too large
  std::uint64_t look_ = 0;          ///< looks so far
  bool answers_ = true;             ///< the last look was complete

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  // Under mutex_.
  TimePoint often_until_;
  Counts counts_;
};

}  // namespace tangram::node
