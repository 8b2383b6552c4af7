#include "cluster/unstarted_pods.hpp"

#include "cluster/agent_words.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::cluster {

namespace {

using model::Allocation;
using model::AllocationPtr;
using model::NodeState;

std::string refusal(const kube::Pod& pod, const Recorded& recorded) {
  if (!recorded.grant_problem.empty()) {
    return "its annotation " + std::string(model::kGrantAnnotation) + " " + recorded.grant_problem;
  }
  if (recorded.allocation.containers.empty()) return "it was bound without a grant";
  const std::string_view words = agent_words(pod, model::kCannotStart);
  return words.empty() ? "" : "its node's agent says \"" + std::string(words) + "\"";
}

AllocationPtr allocation_of(const NodeState& node, const std::string& uid) {
  const auto found = std::find_if(node.allocations.begin(), node.allocations.end(),
                                  [&](const AllocationPtr& allocation) {
                                    return allocation->pod_uid == uid && !allocation->tentative;
                                  });
  return found == node.allocations.end() ? nullptr : *found;
}

template <class Holds>
bool any_card(const Allocation& allocation, const NodeState& node, const Holds& holds) {
  for (const model::ContainerGrant& container : allocation.containers) {
    for (const model::GrantedCard& card : container.cards) {
      if (holds(node.card_index(card.uuid))) return true;
    }
  }
  return false;
}

bool misses_card(const Allocation& allocation, const NodeState& node) {
  return any_card(allocation, node, [](const auto& index) { return !index.has_value(); });
}

bool exceeds_card(const Allocation& allocation, const NodeState& node) {
  return any_card(allocation, node, [&](const auto& index) {
    return index && model::over_granted(node.cards()[*index], node.use[*index]);
  });
}

/// A pod of one node, with what it holds there.
struct Claim {
  const UnstartedPod* pod;
  AllocationPtr allocation;
};

/// Lets the claims onto the node one after the other. @returns those for which there is no room
std::vector<Claim> too_late(const NodeState& node, std::vector<Claim> claims) {
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.pod->issued_at, a.pod->pod.uid) < std::tie(b.pod->issued_at, b.pod->pod.uid);
  });
  std::vector<std::string> uids;
  uids.reserve(claims.size());
  for (const Claim& claim : claims) uids.push_back(claim.pod->pod.uid);
  for (const AllocationPtr& allocation : node.allocations) {
    if (allocation->by_start) uids.push_back(allocation->pod_uid);
  }
  NodeState filled = model::without_pods(model::granted_only(node), uids);
  std::vector<Claim> late;
  for (const Claim& claim : claims) {
    NodeState fuller = model::with_pod(filled, *claim.allocation);
    if (exceeds_card(*claim.allocation, fuller)) {
      late.push_back(claim);
    } else {
      filled = std::move(fuller);
    }
  }
  return late;
}

/// Adds the pods of one node whose cards keep them from starting.
void add_stuck_by_cards(const NodeState& node, std::vector<Claim> claims,
                        std::vector<StuckPod>& stuck) {
  // Without any card the node has lost its annotation, most likely; its agent writes it again.
  if (node.cards().empty()) return;
  for (const Claim& claim : claims) {
    if (!misses_card(*claim.allocation, node)) continue;
    stuck.push_back(
        {*claim.pod, "its grant names a card that node " + node.name + " does not list"});
  }
  std::erase_if(claims, [&](const Claim& claim) { return misses_card(*claim.allocation, node); });
  const bool any_over = std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
    return exceeds_card(*claim.allocation, node);
  });
  if (!any_over) return;
  for (const Claim& claim : too_late(node, std::move(claims))) {
    stuck.push_back(
        {*claim.pod, "the grants on one of its cards exceed the card, and its own came last"});
  }
}

}  // namespace

std::optional<UnstartedPod> unstarted(const kube::Pod& pod, const Recorded& recorded) {
  const bool waits = !pod.node.empty() && !pod.started && !pod.finished && !pod.deleting;
  if (!waits || !has_slots(pod)) return std::nullopt;
  return UnstartedPod{.pod = {pod.uid, pod.ns, pod.name},
                      .node = pod.node,
                      .controller = pod.controller,
                      .issued_at = recorded.issued_at,
                      .refusal = refusal(pod, recorded)};
}

std::vector<StuckPod> stuck_pods(const model::ClusterSnapshot& cluster,
                                 const std::vector<UnstartedPod>& pods) {
  std::vector<StuckPod> stuck;
  std::map<const NodeState*, std::vector<Claim>> by_node;
  for (const UnstartedPod& pod : pods) {
    if (!pod.refusal.empty()) {
      stuck.push_back({pod, pod.refusal});
      continue;
    }
    const NodeState* node = cluster.find(pod.node);
    if (node == nullptr) continue;
    if (auto allocation = allocation_of(*node, pod.pod.uid)) {
      by_node[node].push_back({&pod, std::move(allocation)});
    }
  }
  for (auto& [node, claims] : by_node) add_stuck_by_cards(*node, std::move(claims), stuck);
  std::sort(stuck.begin(), stuck.end(),
            [](const StuckPod& a, const StuckPod& b) { return a.pod.pod.uid < b.pod.pod.uid; });
  return stuck;
}

}  // namespace tangram::cluster
