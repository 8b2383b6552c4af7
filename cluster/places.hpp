#pragma once

#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

#include <vector>

namespace tangram::cluster {

/// A pod that needs a place.
struct PlacelessPod {
  PodPtr pod;
  PodPlan plan;
};

/// Do the pods find a place each, one after the other, beside all that the cluster has? Each takes
/// the first node that has room for it on its cards, and CPU, memory and slots; taints, affinity
/// and volumes are not known here. Nothing is changed: this is tried on a copy. Pure.
/// @param budget  of the searches; once it is spent, the answer is no
[[nodiscard]] bool all_find_places(const std::vector<PlacelessPod>& pods,
                                   const model::ClusterSnapshot& cluster,
                                   model::SearchBudget& budget);

}  // namespace tangram::cluster
