#pragma once

#include "base/result.hpp"
#include "kube/event_series.hpp"
#include "node/audit/audit.hpp"
#include "node/cards/card_source.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/container/processes.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace tangram::node {

/// The use of a card, by pod. Without processes outside of pods, and without the agent's own pod:
/// older drivers count what clients use as memory of the daemon that shares the card.
void add_pod_uses(const std::string& card, const CardActivity& activity, const Processes& processes,
                  std::string_view own_pod, std::vector<PodUse>& uses);

/// Compares grants, slots, specs and processes, reports differences that persist, and repairs the
/// agent's own records: missing and superfluous specs, and the journal.
///
/// Only what was superfluous twice is removed: an entry is written before kubelet's checkpoint is.
/// Holds Journal::lock_claims() while it removes an entry, and keeps one that has changed since it
/// was compared: a container may start whose pod the watch does not have yet.
/// Threads: run() and audit_once() on one at a time, the rest from any.
class Auditor {
 public:
  struct Parts {
    std::string node;
    std::string own_pod;  ///< UID; empty = the agent does not run in a pod
    std::function<Result<std::vector<SlotOwner>>()> slot_owners;  ///< kubelet's checkpoint, now
    PodLister& lister;
    PodSource& pods;
    CardSource& source;
    std::function<CardsPtr()> cards;
    Processes& processes;
    Journal& journal;
    CdiFolder& cdi;
    std::function<void(kube::EventNote)> report_event;
  };
  explicit Auditor(Parts parts);

  /// Writes the specs in the journal that are missing: after a reboot /var/run/cdi is empty, and a
  /// kubelet that starts before its plugins starts containers without them. Where a spec has
  /// another mark, the journal could not be written at the last start, and takes spec and mark
  /// over.
  /// @returns how many specs were missing
  std::size_t restore();

  /// Audits until the end.
  void run(std::chrono::milliseconds interval, const std::stop_token& stop);
  /// @returns kUnavailable if one of the records cannot be read: nothing was compared or changed
  Result<void> audit_once();

  struct Counts {
    std::array<std::uint64_t, kDriftKinds> drifts{};  ///< that persist now, by kind
    std::uint64_t audits = 0;
    std::uint64_t failed = 0;    ///< could not read a record
    std::uint64_t restored = 0;  ///< specs written again
    std::uint64_t removed = 0;   ///< specs and journal entries removed
  };
  [[nodiscard]] Counts counts() const;

 private:
  bool take_over(JournalEntry entry);
  Result<AuditView> view() const;
  /// @param seen  the journal that was compared
  void repair(const Repairs& repairs, const std::vector<JournalEntry>& seen);
  bool remove(const std::string& name, const std::vector<JournalEntry>& seen);
  void report(const std::set<Drift>& drifts);
  void report_event(const Drift& drift) const;

  const Parts parts_;
  std::set<Drift> last_drifts_;             ///< of the last audit
  std::set<std::string> last_superfluous_;  ///< of the last audit
  mutable std::mutex mutex_;
  Counts counts_;  ///< under mutex_
};

}  // namespace tangram::node
