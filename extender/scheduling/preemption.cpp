#include "extender/scheduling/preemption.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace tangram::extender {

namespace {

using model::AllocationPtr;
using model::NodeState;

/// Is the node as a whole short of compute or memory of its cards, as aggregates count them?
bool aggregates_short(const model::GpuRequest& request, const NodeState& node) {
  Mebibytes free_memory;
  MilliGpu free_compute;
  for (std::size_t i = 0; i < node.cards().size(); ++i) {
    free_memory += model::free_memory(node.cards()[i], node.use[i]);
    free_compute += model::free_compute(node.cards()[i], node.use[i]);
  }
  Mebibytes memory;
  MilliGpu compute;
  for (const model::ContainerRequest& container : request.containers) {
    for (int i = 0; i < container.count; ++i) {
      switch (container.share.form) {
        case model::ShareForm::kWhole:
          compute += kWholeGpu;
          break;
        case model::ShareForm::kFraction:
          compute += container.share.fraction;
          break;
        case model::ShareForm::kMemory:
          memory += container.share.memory;
          break;
        case model::ShareForm::kReplica:
          break;  // as much as each node says: it does not count
      }
    }
  }
  return memory > free_memory || compute > free_compute;
}

Victims as_victims(const cluster::VictimSet& set) {
  return {.uids = set.uids(), .pdb_violations = set.broken_budgets};
}

cluster::Preemptor with_budgets(const PreemptRequest& preemptor) {
  return {.demand = preemptor.demand,
          .policy = preemptor.policy,
          .priority = preemptor.pod.priority,
          .spared = preemptor.spared,
          .budgets = *preemptor.budgets,
          .searches = preemptor.searches,
          .tries = preemptor.tries};
}

/// Can the shortage that kube-scheduler saw be found in the ledger, too?
bool seen_by_ledger(const model::PodDemand& demand, const NodeState& node) {
  return !cluster::fits_in_tree(demand, node) || aggregates_short(demand.gpu, node);
}

std::optional<Victims> own_choice(const PreemptRequest& preemptor, const NodeState& node) {
  if (preemptor.budgets == nullptr) return std::nullopt;
  const auto victims = cluster::cheapest_victims(with_budgets(preemptor), node);
  return victims ? std::optional(as_victims(*victims)) : std::nullopt;
}

std::vector<AllocationPtr> pods_of(const NodeState& node, const std::vector<std::string>& uids) {
  std::vector<AllocationPtr> pods;
  std::ranges::copy_if(node.allocations, std::back_inserter(pods), [&](const AllocationPtr& pod) {
    return std::ranges::find(uids, pod->pod_uid) != uids.end();
  });
  return pods;
}

}  // namespace

std::optional<Victims> choose_victims(const PreemptRequest& preemptor, const NodeState& node,
                                      const Victims& proposed) {
  if (preemptor.pod.never_preempts) return std::nullopt;
  const bool spared = std::any_of(proposed.uids.begin(), proposed.uids.end(),
                                  [&](const auto& uid) { return preemptor.spared.contains(uid); });
  if (spared) {
    return seen_by_ledger(preemptor.demand, node) ? own_choice(preemptor, node) : std::nullopt;
  }
  const NodeState without_proposed = model::without_pods(node, proposed.uids);
  const bool on_a_card =
      preemptor.policy.choose(preemptor.demand, without_proposed, preemptor.searches).has_value();
  if (on_a_card && !proposed.uids.empty()) return proposed;
  if (preemptor.budgets == nullptr) return std::nullopt;
  if (proposed.uids.empty() || seen_by_ledger(preemptor.demand, node)) {
    if (auto victims = own_choice(preemptor, node)) return victims;
  }
  if (proposed.uids.empty()) return std::nullopt;
  const auto beside = cluster::cheapest_victims(with_budgets(preemptor), without_proposed,
                                                pods_of(node, proposed.uids));
  if (!beside) return std::nullopt;
  Victims victims = as_victims(*beside);
  victims.uids.insert(victims.uids.begin(), proposed.uids.begin(), proposed.uids.end());
  victims.pdb_violations += proposed.pdb_violations;
  return victims;
}

std::map<std::string, Victims, std::less<>> preempt(
    const std::map<std::string, Victims, std::less<>>& nodes, const PreemptRequest& preemptor,
    const PodView& cluster) {
  std::map<std::string, Victims, std::less<>> possible;
  for (const auto& [name, proposed] : nodes) {
    const NodeState* node = cluster.find(name);
    if (node == nullptr) {
      // A pod without cards is none of Tangram's business on a node that it does not know.
      if (!preemptor.demand.gpu.asks_gpu()) possible.emplace(name, proposed);
      continue;
    }
    auto victims = choose_victims(preemptor, *node, proposed);
    if (preemptor.searches.skipped() > 0) break;
    if (victims) possible.emplace(name, std::move(*victims));
  }
  return possible;
}

}  // namespace tangram::extender
