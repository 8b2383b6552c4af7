#include "extender/scheduling/pod_view.hpp"

#include "cluster/allocations.hpp"
#include "model/placement.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace tangram::extender {

void PodView::lookup(std::span<const std::string_view> names,
                     std::span<model::ClusterSnapshot::Found> found) const {
  cluster_->lookup(names, found);
  if (replaced_.empty()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto* replaced = replacement(names[i])) found[i] = made_up(*replaced);
  }
}

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
std::optional<model::Allocation> future_of(const Nominee& nominee, const model::NodeState& node,
                                           const cluster::PolicySource& policies) {
  const kube::Pod& pod = *nominee.pod;
  const auto plan = policies.plan(pod);
  if (!plan || !plan->demand.gpu.asks_gpu()) return std::nullopt;
  const auto on = [&](const model::NodeState& state) -> std::optional<model::Allocation> {
    const auto choice = plan->policy->choose(plan->demand, state);
    if (!choice) return std::nullopt;
    return cluster::allocation_for(pod, state, plan->demand, choice->placement);
  };
  if (auto now = on(node)) return now;
  return on(without_leaving(node, nominee.evicted));
}

}  // namespace

model::NodeState without_leaving(const model::NodeState& node, std::vector<std::string> evicted) {
  auto leaving = terminating_pods(node);
  leaving.insert(leaving.end(), std::make_move_iterator(evicted.begin()),
                 std::make_move_iterator(evicted.end()));
  return model::without_pods(node, leaving);
}

model::NodeState keep_room(const model::NodeState& node, const std::vector<Nominee>& nominated,
                           const cluster::PolicySource& policies) {
  model::NodeState state = node;
  for (const Nominee& nominee : nominated) {
    // Its reservation is in the ledger already.
    const bool counted = std::any_of(node.allocations.begin(), node.allocations.end(),
                                     [&](const model::AllocationPtr& allocation) {
                                       return allocation->pod_uid == nominee.pod->uid;
                                     });
    if (counted) continue;
    if (const auto allocation = future_of(nominee, state, policies)) {
      state = model::with_pod(state, *allocation);
    }
  }
  return state;
}

std::map<std::string, std::vector<Nominee>, std::less<>> nominated_above(
    const Nominations& nominations, std::string_view pod_uid, int priority) {
  std::map<std::string, std::vector<Nominee>, std::less<>> by_node;
  const auto add = [&](Nominee nominee, const std::string& node) {
    if (nominee.pod->uid == pod_uid || nominee.pod->priority < priority) return;
    auto& nominees = by_node[node];
    const bool known = std::ranges::any_of(
        nominees, [&](const Nominee& other) { return other.pod->uid == nominee.pod->uid; });
    if (!known) nominees.push_back(std::move(nominee));
  };
  for (Nomination& one : nominations.promised.nominated()) {
    add({std::move(one.pod), one.evicted ? std::move(one.victims) : std::vector<std::string>()},
        one.node);
  }
  for (const cluster::PodPtr& pod : nominations.shown.nominated()) {
    add({pod, {}}, pod->nominated_node);
  }
  for (auto& [node, nominees] : by_node) {
    std::ranges::stable_sort(nominees, std::greater(),
                             [](const Nominee& one) { return one.pod->priority; });
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
