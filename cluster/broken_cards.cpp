#include "cluster/broken_cards.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace tangram::cluster {

namespace {

struct Fault {
  std::string why;
  bool draining = false;
};

/// By the card's id. Nearly always empty.
std::map<std::string_view, Fault> faults_of(const model::NodeInventory& node) {
  std::map<std::string_view, Fault> faults;
  const auto is_named = [&](const std::string& id) {
    return std::ranges::find(node.draining, id) != node.draining.end();
  };
  for (const model::Card& card : node.cards) {
    // Until the node's agent has cordoned it, it would take the next pods.
    const bool draining =
        card.cordoned && (is_named(card.id) || (!card.parent.empty() && is_named(card.parent)));
    if (!card.healthy) {
      faults[card.id] = {"its card " + card.id + " is unhealthy: " + card.unavailable_reason,
                         draining};
    } else if (draining) {
      faults[card.id] = {"its card " + card.id + " is to be emptied", true};
    }
  }
  return faults;
}

std::optional<Fault> fault_of(const model::Allocation& allocation,
                              const std::map<std::string_view, Fault>& faults) {
  std::optional<Fault> first;
  for (const model::ContainerGrant& container : allocation.containers) {
    for (const model::GrantedCard& card : container.cards) {
      const auto found = faults.find(card.uuid);
      if (found == faults.end()) continue;
      if (!first || found->second.draining) first = found->second;
    }
  }
  return first;
}

}  // namespace

std::vector<PodOnBrokenCard> pods_on_broken_cards(const model::ClusterSnapshot& cluster) {
  std::vector<PodOnBrokenCard> pods;
  cluster.for_each_present([&](const model::ClusterSnapshot::Found& found) {
    const model::NodeState& node = *found.node;
    const auto faults = faults_of(*node.inventory);
    if (faults.empty()) return;
    for (const model::AllocationPtr& allocation : node.allocations) {
      if (allocation->tentative || allocation->terminating) continue;
      if (auto fault = fault_of(*allocation, faults)) {
        pods.push_back({{allocation->pod_uid, allocation->pod_namespace, allocation->pod_name},
                        std::move(fault->why),
                        fault->draining});
      }
    }
  });
  std::ranges::sort(pods, {}, [](const PodOnBrokenCard& pod) { return pod.pod.uid; });
  return pods;
}

}  // namespace tangram::cluster
