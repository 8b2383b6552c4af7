#include "extender/scheduling/preemption.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace tangram::extender {

namespace {

using model::AllocationPtr;
using model::NodeState;

bool takes_one_card(const model::GpuRequest& request) {
  return request.containers.size() == 1 && request.containers.front().count == 1;
}

/// What kube-scheduler's own fit looks at, as far as the ledger knows it. Zero = not known.
bool fits_in_tree(const model::PodDemand& demand, const NodeState& node) {
  const model::Footprint& pod = demand.footprint;
  return pod.cpu <= node.free_cpu() && pod.memory <= node.free_memory() &&
         (node.inventory->slots == 0 || node.requested.slots + pod.slots <= node.inventory->slots);
}

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

bool fits(const Preemptor& preemptor, const NodeState& node) {
  return fits_in_tree(preemptor.demand, node) &&
         preemptor.policy.choose(preemptor.demand, node, preemptor.searches).has_value();
}

bool on_card(const model::Allocation& allocation, std::string_view card) {
  return std::any_of(
      allocation.containers.begin(), allocation.containers.end(), [&](const auto& part) {
        return std::any_of(part.cards.begin(), part.cards.end(),
                           [&](const auto& granted) { return granted.uuid == card; });
      });
}

/// How much of any card the pod holds, for "the smaller ones are spared first".
std::int64_t size_of(const model::Allocation& allocation) {
  std::int64_t milli = 0;
  for (const auto& part : allocation.containers) {
    for (const auto& card : part.cards) milli += card.compute.count();
  }
  return milli;
}

std::vector<std::string> uids_of(const std::vector<AllocationPtr>& allocations) {
  std::vector<std::string> uids;
  uids.reserve(allocations.size());
  for (const AllocationPtr& allocation : allocations) uids.push_back(allocation->pod_uid);
  return uids;
}

/// What the budgets allow once some pods of the node are gone.
std::vector<int> allowed_after(const cluster::BudgetList& budgets, const NodeState& node,
                               const std::vector<std::string>& gone) {
  std::vector<int> allowed;
  allowed.reserve(budgets.size());
  for (const cluster::BudgetPtr& budget : budgets) allowed.push_back(budget->allowed);
  for (const AllocationPtr& pod : node.allocations) {
    if (std::find(gone.begin(), gone.end(), pod->pod_uid) == gone.end()) continue;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (budgets[i]->covers(pod->pod_namespace, pod->pod_name, pod->labels)) --allowed[i];
    }
  }
  return allowed;
}

/// Which of the pods, evicted in this order, would break a budget: kube-scheduler's rule.
std::set<const model::Allocation*> budget_breakers(const std::vector<AllocationPtr>& pods,
                                                   const cluster::BudgetList& budgets,
                                                   std::vector<int> allowed) {
  std::set<const model::Allocation*> breakers;
  for (const AllocationPtr& pod : pods) {
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (!budgets[i]->covers(pod->pod_namespace, pod->pod_name, pod->labels)) continue;
      if (--allowed[i] < 0) breakers.insert(pod.get());
    }
  }
  return breakers;
}

bool more_important(const AllocationPtr& a, const AllocationPtr& b) {
  return std::tuple(-a->priority, size_of(*a), std::string_view(a->pod_uid)) <
         std::tuple(-b->priority, size_of(*b), std::string_view(b->pod_uid));
}

/// Pods that leave, and what that costs.
struct Sacrifice {
  std::vector<AllocationPtr> pods;
  std::int64_t broken_budgets = 0;

  [[nodiscard]] auto cost() const {
    std::int64_t highest = INT64_MIN;
    std::int64_t sum = 0;
    for (const AllocationPtr& pod : pods) {
      highest = std::max<std::int64_t>(highest, pod->priority);
      // As kube-scheduler: shifted, so that a negative priority does not make more pods cheaper.
      sum += std::int64_t{pod->priority} + INT32_MAX + 1;
    }
    return std::tuple(broken_budgets, highest, sum, pods.size());
  }
};

/// All candidates leave, then as many as possible come back.
/// @returns nothing if the pod does not fit even without all of them
std::optional<Sacrifice> spare(const Preemptor& preemptor, const NodeState& node,
                               std::vector<AllocationPtr> candidates,
                               const std::vector<int>& allowed) {
  NodeState state = model::without_pods(node, uids_of(candidates));
  if (candidates.empty() || !fits(preemptor, state)) return std::nullopt;
  std::sort(candidates.begin(), candidates.end(), more_important);
  const auto breakers = budget_breakers(candidates, *preemptor.budgets, allowed);
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](const AllocationPtr& pod) { return breakers.contains(pod.get()); });
  Sacrifice sacrifice;
  for (const AllocationPtr& pod : candidates) {
    NodeState with = model::with_pod(state, *pod);
    if (fits(preemptor, with)) {
      state = std::move(with);
      continue;
    }
    sacrifice.pods.push_back(pod);
    if (breakers.contains(pod.get())) ++sacrifice.broken_budgets;
  }
  if (sacrifice.pods.empty()) return std::nullopt;
  return sacrifice;
}

std::vector<AllocationPtr> evictable(const Preemptor& preemptor, const NodeState& node) {
  std::vector<AllocationPtr> pods;
  for (const AllocationPtr& allocation : node.allocations) {
    if (allocation->priority < preemptor.pod.priority && !allocation->tentative &&
        !allocation->terminating && !allocation->containers.empty() &&
        !preemptor.spared.contains(allocation->pod_uid)) {
      pods.push_back(allocation);
    }
  }
  return pods;
}

/// The cheapest sacrifice on one card, or on the node where one card is not enough.
std::optional<Sacrifice> cheapest(const Preemptor& preemptor, const NodeState& node,
                                  const std::vector<int>& allowed) {
  const auto all = evictable(preemptor, node);
  std::optional<Sacrifice> best;
  if (takes_one_card(preemptor.demand.gpu)) {
    for (const model::Card& card : node.cards()) {
      std::vector<AllocationPtr> here;
      std::copy_if(all.begin(), all.end(), std::back_inserter(here),
                   [&](const AllocationPtr& pod) { return on_card(*pod, card.id); });
      auto sacrifice = spare(preemptor, node, std::move(here), allowed);
      if (sacrifice && (!best || sacrifice->cost() < best->cost())) best = std::move(sacrifice);
    }
  }
  return best ? best : spare(preemptor, node, all, allowed);
}

Victims as_victims(const Sacrifice& sacrifice) {
  return {.uids = uids_of(sacrifice.pods), .pdb_violations = sacrifice.broken_budgets};
}

/// Can the shortage that kube-scheduler saw be found in the ledger, too?
bool seen_by_ledger(const model::PodDemand& demand, const NodeState& node) {
  return !fits_in_tree(demand, node) || aggregates_short(demand.gpu, node);
}

std::optional<Victims> own_choice(const Preemptor& preemptor, const NodeState& node) {
  if (preemptor.budgets == nullptr) return std::nullopt;
  const auto sacrifice = cheapest(preemptor, node, allowed_after(*preemptor.budgets, node, {}));
  return sacrifice ? std::optional(as_victims(*sacrifice)) : std::nullopt;
}

}  // namespace

std::optional<Victims> choose_victims(const Preemptor& preemptor, const NodeState& node,
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
  const auto beside =
      cheapest(preemptor, without_proposed, allowed_after(*preemptor.budgets, node, proposed.uids));
  if (!beside) return std::nullopt;
  Victims victims = as_victims(*beside);
  victims.uids.insert(victims.uids.begin(), proposed.uids.begin(), proposed.uids.end());
  victims.pdb_violations += proposed.pdb_violations;
  return victims;
}

std::map<std::string, Victims, std::less<>> preempt(
    const std::map<std::string, Victims, std::less<>>& nodes, const Preemptor& preemptor,
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
