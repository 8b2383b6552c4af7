#pragma once

#include "cluster/open_nodes.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tangram::cluster {

/// A pod that needs a place.
struct PlacelessPod {
  PodPtr pod;
  PodPlan plan;
};

/// A pod that finds no place beside those before it.
struct NoPlace {
  std::size_t pod = 0;   ///< into the pods asked about
  std::string_view why;  ///< of the node that comes nearest
};

/// Do the pods find a place each, one after the other, beside all that the cluster has but their
/// own reservations? Each takes the first node that has room for it on its cards, and CPU, memory
/// and slots; taints, affinity and volumes are not known here. Nothing is changed: this is tried on
/// a copy. Pure.
/// @param budget  of the searches; once it is spent, the answer is no
/// @param takes   what else speaks for a node; empty = every node takes every pod
[[nodiscard]] bool all_find_places(const std::vector<PlacelessPod>& pods,
                                   const model::ClusterSnapshot& cluster,
                                   model::SearchBudget& budget, const OpenNodes::Takes& takes = {});
/// The same, and why the first that does not. @returns nothing if all do
[[nodiscard]] std::optional<NoPlace> first_without_place(const std::vector<PlacelessPod>& pods,
                                                         const model::ClusterSnapshot& cluster,
                                                         model::SearchBudget& budget);

}  // namespace tangram::cluster
