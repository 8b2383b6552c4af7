#pragma once

#include "base/result.hpp"
#include "kube/event_series.hpp"
#include "node/audit/audit.hpp"
#include "node/cards/cards_now.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/container/processes.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace tangram::node {

/// What happens on a card, by pod. Left out are processes outside of pods, and those of the agent's
/// own: MPS servers, to which older drivers ascribe what their clients use.
void add_pod_uses(const std::string& card, const CardActivity& activity, const Processes& processes,
                  std::string_view own_pod, std::vector<PodUse>& uses);

/// Compares grants, slots, specs and processes, tells of differences that stay, and mends what is
/// the agent's own: specs that are missing or left over, and the journal.
///
/// What is forgotten must have been superfluous twice, too: an allocation is written before
/// kubelet's checkpoint is. Threads: look() on one at a time, the rest from any.
class Auditor {
 public:
  struct Parts {
    std::string node;
    std::string own_pod;  ///< UID; empty = the agent does not run in a pod
    std::function<Result<std::string>()> checkpoint;
    PodLister& lister;
    PodSource& pods;
    CardSource& source;
    std::function<CardsPtr()> cards;
    Processes& processes;
    Journal& journal;
    CdiFolder& cdi;
    std::function<void(kube::EventNote)> tell;
  };
  explicit Auditor(Parts parts);

  /// Puts back what the journal says must stand on disk: after a reboot /var/run/cdi is empty, and
  /// a kubelet that starts before its plugins starts containers without asking.
  /// @returns how many specs were missing
  std::size_t restore();

  /// One audit.
  /// @returns kUnavailable if one of the records cannot be read: nothing was compared or changed
  Result<void> look();

  struct Counts {
    std::array<std::uint64_t, kDriftKinds> drifts{};  ///< that stand now, by kind
    std::uint64_t audits = 0;
    std::uint64_t failed = 0;    ///< that could not read a record
    std::uint64_t restored = 0;  ///< specs put back
    std::uint64_t removed = 0;   ///< specs and journal entries removed
  };
  [[nodiscard]] Counts counts() const;

 private:
  Result<AuditView> view() const;
  void mend(const Repairs& repairs);
  void report(const std::set<Drift>& drifts);
  void tell(const Drift& drift) const;

  const Parts parts_;
  std::set<Drift> seen_;             ///< by the last audit
  std::set<std::string> forgotten_;  ///< what the last one found superfluous
  mutable std::mutex mutex_;
  Counts counts_;  ///< under mutex_
};

}  // namespace tangram::node
