#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/places.hpp"
#include "cluster/policy_source.hpp"
#include "model/node_state.hpp"

#include <chrono>
#include <memory>
#include <string_view>

/// Which pods may leave their cards, so that their controllers make others in their place. Pure.
namespace tangram::cluster {

/// The place of an evicted pod's next one is kept for 5 minutes. So a pod that may take longer to
/// end does not move: for its next one there is a minute.
inline constexpr std::chrono::seconds kMostGrace{240};

/// May the pod move? Pods of a ReplicaSet or StatefulSet may, unless the label
/// `tangram.dev/movable` forbids it; pods of other controllers if it allows it, such as those of a
/// Job, which lose their work. Never those without a controller, of a DaemonSet, and mirrors of
/// static pods; nor pods that do not stand alone: members of groups, and pods with volumes or
/// claims that kube-scheduler has to bind.
[[nodiscard]] bool may_move(const kube::Pod& pod);

/// Does the pod hold what its controller's next pod will ask for? A revised grant is not what the
/// controller's template says, nor is a request that was changed since; and a grant that counts by
/// a start need not be what the pod was bound for.
[[nodiscard]] bool is_as_its_template(const model::Allocation& has,
                                      const model::GpuRequest& request,
                                      const model::NodeState& node);

/// The pod that the controller makes in the place of this one: by its annotations, without a node.
/// @returns null if these are not valid any more
[[nodiscard]] std::shared_ptr<const PlacelessPod> next_pod_of(kube::Pod pod,
                                                              const PolicySource& policies);

/// Has the controller a pod without a node?
[[nodiscard]] bool has_waiting_pod(const kube::Controller& controller, std::string_view ns,
                                   const PodTable& pods);

/// Can the Eviction API tell whether the pod may go? It refuses pods of two budgets. And budgets
/// select by labels, of which the ledger knows none of pods that have too many.
[[nodiscard]] bool can_be_evicted(const model::Allocation& pod, const BudgetList& budgets);

/// The Eviction API takes an empty selector to cover all pods of the namespace. One that is missing
/// covers none, and is treated the same here.
[[nodiscard]] BudgetList as_evictions_see_them(const BudgetList& budgets);

}  // namespace tangram::cluster
