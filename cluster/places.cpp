#include "cluster/places.hpp"

#include "cluster/allocations.hpp"
#include "cluster/in_tree.hpp"
#include "cluster/victims.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tangram::cluster {

namespace {

/// Nodes that are not any more as they stand in the snapshot.
using Filled = std::map<model::NodeIndex, model::NodeState>;

/// @param from  where to look first, and where it was found
bool finds_place(const PlacelessPod& placeless, const model::ClusterSnapshot& cluster,
                 Filled& filled, model::NodeIndex& from, model::SearchBudget& budget) {
  const model::PodDemand& demand = placeless.plan.demand;
  for (model::NodeIndex& i = from; i < cluster.slots(); ++i) {
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

bool alike(const PlacelessPod& a, const PlacelessPod& b) {
  return a.plan.policy == b.plan.policy && a.plan.demand == b.plan.demand;
}

/// What is reserved for them is theirs to use.
Filled without_reservations_of(const std::vector<PlacelessPod>& pods,
                               const model::ClusterSnapshot& cluster) {
  std::set<std::string_view> uids;
  for (const PlacelessPod& one : pods) uids.insert(one.pod->uid);
  Filled filled;
  cluster.for_each_present([&](const model::ClusterSnapshot::Found& found) {
    std::vector<std::string> own;
    for (const auto& allocation : found.node->allocations) {
      if (allocation->tentative && uids.contains(allocation->pod_uid)) {
        own.push_back(allocation->pod_uid);
      }
    }
    if (!own.empty()) filled.emplace(found.index, model::without_pods(*found.node, own));
  });
  return filled;
}

std::string_view why_no_place(const PlacelessPod& placeless, const model::ClusterSnapshot& cluster,
                              const Filled& filled, model::SearchBudget& budget) {
  const model::PodDemand& demand = placeless.plan.demand;
  std::optional<model::Misfit> nearest;
  std::string_view blocked;
  cluster.for_each_present([&](const model::ClusterSnapshot::Found& found) {
    const auto changed = filled.find(found.index);
    const model::NodeState& node = changed == filled.end() ? *found.node : changed->second;
    if (placeless.plan.policy->choose(demand, node, budget)) {
      blocked = in_tree_misfit(demand.footprint, node);
    } else {
      nearest = std::max(nearest, std::optional(model::why_not(demand.gpu, node)));
    }
  });
  if (!blocked.empty()) return blocked;
  return nearest ? model::reason(*nearest) : "there is no node";
}

}  // namespace

std::optional<NoPlace> first_without_place(const std::vector<PlacelessPod>& pods,
                                           const model::ClusterSnapshot& cluster,
                                           model::SearchBudget& budget) {
  Filled filled = without_reservations_of(pods, cluster);
  model::NodeIndex from = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    // Nodes that have no room for a pod have none for the next one like it.
    if (i == 0 || !alike(pods[i - 1], pods[i])) from = 0;
    if (finds_place(pods[i], cluster, filled, from, budget)) continue;
    return NoPlace{i, why_no_place(pods[i], cluster, filled, budget)};
  }
  return std::nullopt;
}

}  // namespace tangram::cluster
