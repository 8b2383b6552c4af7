#pragma once

#include "cluster/allocations.hpp"
#include "cluster/findings.hpp"
#include "kube/objects.hpp"
#include "model/snapshot.hpp"

#include <optional>
#include <string>
#include <vector>

/// Pods that are bound and can never start: which ones, and why.
namespace tangram::cluster {

/// A pod that is bound, holds a slot, and none of whose containers has run.
struct UnstartedPod {
  PodName pod;
  std::string node;
  kube::Controller controller;
  std::string issued_at;  ///< of its grant; empty = it has no good one
  std::string refusal;    ///< why it can never start, by its own record or the word of its node's
                          ///< agent; empty = neither says so
};

/// @returns nothing if the pod has started, needs no agent to start, or is being deleted
[[nodiscard]] std::optional<UnstartedPod> unstarted(const kube::Pod& pod, const Recorded& recorded);

/// A pod that can never start where it is.
struct StuckPod {
  UnstartedPod pod;
  std::string why;  ///< behind "the pod cannot start: "
};

/// Those of the pods that can never start, as things are: by their refusal; or because their node
/// does not list a card of theirs; or because they are too much for one. Of pods that are too much
/// together those that come last are: after those that have started by time of issue, then by UID,
/// which is the order in which the agent lets them start. What counts only by a start
/// (Allocation::by_start) makes no other pod stuck: the agent keeps in its journal by which grant
/// it started a pod, and says itself whom that leaves no room. Pure.
[[nodiscard]] std::vector<StuckPod> stuck_pods(const model::ClusterSnapshot& cluster,
                                               const std::vector<UnstartedPod>& pods);

}  // namespace tangram::cluster
