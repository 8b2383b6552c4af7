#include "cluster/places.hpp"

#include "cluster/allocations.hpp"
#include "cluster/changed_cluster.hpp"
#include "cluster/in_tree.hpp"
#include "cluster/victims.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace tangram::cluster {

namespace {

/// @param from  where to look first, and where it was found
bool finds_place(const PlacelessPod& placeless, ChangedCluster& cluster, model::NodeIndex& from,
                 model::SearchBudget& budget, const OpenNodes::Takes& takes) {
  const model::PodDemand& demand = placeless.plan.demand;
  for (model::NodeIndex& i = from; i < cluster.before().slots(); ++i) {
    if (!cluster.before().found_at(i)) continue;
    const model::NodeState& node = cluster.after(i);
    if (!fits_in_tree(demand, node) || (takes && !takes(*placeless.pod, node))) continue;
    const auto choice = placeless.plan.policy->choose(demand, node, budget);
    if (!choice) continue;
    cluster.come(i, allocation_for(*placeless.pod, node, demand, choice->placement));
    return true;
  }
  return false;
}

bool alike(const PlacelessPod& a, const PlacelessPod& b) {
  return a.plan.policy == b.plan.policy && a.plan.demand == b.plan.demand;
}

/// What is reserved for them is theirs to use.
void end_reservations_of(const std::vector<PlacelessPod>& pods, ChangedCluster& cluster) {
  std::set<std::string_view> uids;
  for (const PlacelessPod& one : pods) uids.insert(one.pod->uid);
  cluster.before().for_each_present([&](const model::ClusterSnapshot::Found& found) {
    std::vector<std::string> own;
    for (const auto& allocation : found.node->allocations) {
      if (allocation->tentative && uids.contains(allocation->pod_uid)) {
        own.push_back(allocation->pod_uid);
      }
    }
    if (!own.empty()) cluster.leave(found.index, own);
  });
}

/// Gives them their places. @returns how many have one: the first ones
std::size_t place_in_turn(const std::vector<PlacelessPod>& pods, ChangedCluster& cluster,
                          model::SearchBudget& budget, const OpenNodes::Takes& takes) {
  end_reservations_of(pods, cluster);
  model::NodeIndex from = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    // Nodes that have no room for a pod have none for the next one like it.
    if (i == 0 || takes || !alike(pods[i - 1], pods[i])) from = 0;
    if (!finds_place(pods[i], cluster, from, budget, takes)) return i;
  }
  return pods.size();
}

std::string_view why_no_place(const PlacelessPod& placeless, const ChangedCluster& cluster,
                              model::SearchBudget& budget) {
  const model::PodDemand& demand = placeless.plan.demand;
  std::optional<model::Misfit> nearest;
  std::string_view blocked;
  cluster.before().for_each_present([&](const model::ClusterSnapshot::Found& found) {
    const model::NodeState& node = cluster.after(found.index);
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

bool all_find_places(const std::vector<PlacelessPod>& pods, const model::ClusterSnapshot& cluster,
                     model::SearchBudget& budget, const OpenNodes::Takes& takes) {
  ChangedCluster changed(cluster);
  return place_in_turn(pods, changed, budget, takes) == pods.size();
}

std::optional<NoPlace> first_without_place(const std::vector<PlacelessPod>& pods,
                                           const model::ClusterSnapshot& cluster,
                                           model::SearchBudget& budget) {
  ChangedCluster changed(cluster);
  const std::size_t placed = place_in_turn(pods, changed, budget, {});
  if (placed == pods.size()) return std::nullopt;
  return NoPlace{placed, why_no_place(pods[placed], changed, budget)};
}

}  // namespace tangram::cluster
