#pragma once

#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/scheduling/denials.hpp"
#include "extender/scheduling/group_attempts.hpp"
#include "extender/scheduling/wire.hpp"
#include "model/ledger.hpp"

#include <chrono>
#include <limits>
#include <string>
#include <vector>

namespace tangram::extender {

/// The room reserved for members of PodGroups while kube-scheduler tries to place them; see
/// GroupAttempts for when an attempt begins and ends.
///
/// What is reserved in an attempt yields to no other pod: kube-scheduler may be binding all
/// members, and a group must not be bound in part because of us. What is reserved for a group in
/// doubt yields to every other pod: the group may never run, and be tried again within milliseconds
/// for ever.
///
/// kube-scheduler tries groups again by time alone, whatever happens in the cluster
/// (determineSchedulingHintForInFlightPod), so no pod is woken for them, and their denials are not
/// kept. Threads: safe.
class GroupReservations {
 public:
  struct Parts {
    GroupAttempts& attempts;
    cluster::SharedLedger& ledger;
    cluster::PodTable& pods;
    const cluster::PodGroups& groups;
    Denials& denials;
  };
  struct Settings {
    /// From the last question about the group, or the first bind, until the bind.
    std::chrono::milliseconds hold{};
    /// The same for a member whose volumes or claims may delay its bind.
    std::chrono::milliseconds long_hold{};
  };
  GroupReservations(Parts parts, Settings settings) : parts_(parts), settings_(settings) {}

  /// kube-scheduler asks about a member.
  GroupAttempts::Turn begin(const FilterArgs& args);

  /// Of the room that others may give up again, this is not to be waited for: the group needs it.
  void leave_out_own(const kube::Pod& member, std::vector<model::AllocationPtr>& unconfirmed) const;

  /// Reserves room for a member.
  /// @param displaced  pods in doubt whose reservations end with this
  /// @returns false if there is no such room any more
  [[nodiscard]] bool reserve(model::Allocation allocation, const kube::Pod& member, bool in_doubt,
                             const model::Ledger::Uids& displaced);
  /// No node takes the member.
  void refused(const FilterArgs& args);
  /// The bind of a pod comes: if it is a member, those of the others come as well.
  void bind_comes(const std::string& pod_uid);
  /// kube-scheduler says that its last attempt has failed.
  /// @param key  as of cluster::group_key()
  void attempt_failed(const std::string& key);

  /// Of the reservations of groups in doubt: below that of every pod.
  static constexpr int kPriorityInDoubt = std::numeric_limits<int>::min();
  /// By which members take room that is reserved: only that of groups in doubt.
  static constexpr int kTakesFromGroupsInDoubt = kPriorityInDoubt + 1;

 private:
  [[nodiscard]] std::chrono::milliseconds hold_for(const kube::Pod& member, bool in_doubt) const;
  void renew(const std::vector<std::string>& members, bool in_doubt);

  const Parts parts_;
  const Settings settings_;
};

}  // namespace tangram::extender
