#include "extender/scheduling/pod_view.hpp"

#include "cluster/allocations.hpp"
#include "model/placement.hpp"

#include <algorithm>

namespace tangram::extender {

const model::NodeState* PodView::find(std::string_view name) const {
  const auto found = lookup(name);
  return found ? found->node : nullptr;
}

void PodView::replace(model::NodeState node) {
  std::string name = node.name;
  replaced_.insert_or_assign(std::move(name), std::move(node));
}

namespace {

std::vector<std::string> terminating_pods(const model::NodeState& node) {
  std::vector<std::string> uids;
  for (const model::AllocationPtr& allocation : node.allocations) {
    if (allocation->terminating) uids.push_back(allocation->pod_uid);
  }
  return uids;
}

/// What the nominated pod gets, now or when the node's terminating pods are gone.
std::optional<model::Allocation> future_of(const kube::Pod& pod, const model::NodeState& node,
                                           const cluster::PolicySource& policies) {
  const auto plan = policies.plan(pod);
  if (!plan || !plan->demand.gpu.asks_gpu()) return std::nullopt;
  const auto on = [&](const model::NodeState& state) -> std::optional<model::Allocation> {
    const auto choice = plan->policy->choose(plan->demand, state);
    if (!choice) return std::nullopt;
    return cluster::allocation_for(pod, state, plan->demand, choice->placement);
  };
  if (auto now = on(node)) return now;
  const auto leaving = terminating_pods(node);
  return leaving.empty() ? std::nullopt : on(model::without_pods(node, leaving));
}

}  // namespace

model::NodeState keep_room(const model::NodeState& node,
                           const std::vector<cluster::PodPtr>& nominated,
                           const cluster::PolicySource& policies) {
  model::NodeState state = node;
  for (const cluster::PodPtr& pod : nominated) {
    // Its reservation is in the ledger already.
    const bool counted = std::any_of(
        node.allocations.begin(), node.allocations.end(),
        [&](const model::AllocationPtr& allocation) { return allocation->pod_uid == pod->uid; });
    if (counted) continue;
    if (const auto allocation = future_of(*pod, state, policies)) {
      state = model::with_pod(state, *allocation);
    }
  }
  return state;
}

std::map<std::string, std::vector<cluster::PodPtr>, std::less<>> nominated_above(
    const Nominations& nominations, std::string_view pod_uid, int priority) {
  std::map<std::string, std::vector<cluster::PodPtr>, std::less<>> by_node;
  const auto add = [&](cluster::PodPtr pod, const std::string& node) {
    if (pod->uid == pod_uid || pod->priority < priority) return;
    auto& pods = by_node[node];
    const bool known = std::any_of(pods.begin(), pods.end(),
                                   [&](const auto& other) { return other->uid == pod->uid; });
    if (!known) pods.push_back(std::move(pod));
  };
  for (const cluster::PodPtr& pod : nominations.shown.nominated()) add(pod, pod->nominated_node);
  for (Nomination& one : nominations.promised.nominated()) add(std::move(one.pod), one.node);
  for (auto& [node, pods] : by_node) {
    std::stable_sort(pods.begin(), pods.end(),
                     [](const cluster::PodPtr& a, const cluster::PodPtr& b) {
                       return a->priority > b->priority;
                     });
  }
  return by_node;
}

void fit_to_pod(PodView& view, const kube::Pod& pod, std::string_view held_on,
                const Nominations& nominations, const cluster::PolicySource& policies) {
  if (!held_on.empty()) {
    if (const auto* node = view.find(held_on)) {
      view.replace(model::without_pods(*node, {pod.uid}));
    }
  }
  for (const auto& [name, pods] : nominated_above(nominations, pod.uid, pod.priority)) {
    if (const auto* node = view.find(name)) view.replace(keep_room(*node, pods, policies));
  }
}

bool room_is_coming(const model::NodeState& node, const model::PodDemand& demand,
                    const policies::Policy& policy, const std::vector<std::string>& victims) {
  auto leaving = terminating_pods(node);
  const bool begun = std::any_of(leaving.begin(), leaving.end(), [&](const std::string& uid) {
    return std::find(victims.begin(), victims.end(), uid) != victims.end();
  });
  if (begun) leaving.insert(leaving.end(), victims.begin(), victims.end());
  return !leaving.empty() && !policy.choose(demand, node) &&
         policy.choose(demand, model::without_pods(node, leaving));
}

}  // namespace tangram::extender
