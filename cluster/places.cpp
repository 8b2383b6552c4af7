#include "cluster/places.hpp"

#include "cluster/allocations.hpp"
#include "cluster/victims.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tangram::cluster {

namespace {

/// Nodes that are not any more as they stand in the snapshot.
using Filled = std::map<model::NodeIndex, model::NodeState>;

bool finds_place(const PlacelessPod& placeless, const model::ClusterSnapshot& cluster,
                 Filled& filled, model::SearchBudget& budget) {
  const model::PodDemand& demand = placeless.plan.demand;
  for (model::NodeIndex i = 0; i < cluster.slots(); ++i) {
    const auto found = cluster.found_at(i);
    if (!found) continue;
    const auto changed = filled.find(i);
    const model::NodeState& node = changed == filled.end() ? *found->node : changed->second;
    if (!fits_in_tree(demand, node)) continue;
    const auto choice = placeless.plan.policy->choose(demand, node, budget);
    if (!choice) continue;
    filled.insert_or_assign(
        i, model::with_pod(node, allocation_for(*placeless.pod, node, demand, choice->placement)));
    return true;
  }
  return false;
}

}  // namespace

bool all_find_places(const std::vector<PlacelessPod>& pods, const model::ClusterSnapshot& cluster,
                     model::SearchBudget& budget) {
  Filled filled;
  return std::ranges::all_of(
      pods, [&](const PlacelessPod& pod) { return finds_place(pod, cluster, filled, budget); });
}

}  // namespace tangram::cluster
