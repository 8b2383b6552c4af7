#pragma once

#include "cluster/disruption_budgets.hpp"
#include "model/ledger.hpp"
#include "model/node_state.hpp"
#include "policies/policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// Which pods have to leave a node so that another one fits. Pure.
namespace tangram::cluster {

/// What makes one set of victims cheaper than another.
enum class VictimOrder {
  kImportance,  ///< kube-scheduler's order, for pods that end: see VictimSet::cost()
  kEffort,      ///< for pods that move: fewest broken budgets, fewest pods, least compute
};

/// A pod that may take the place of others.
struct Preemptor {
  const model::PodDemand& demand;
  const policies::Policy& policy;
  int priority = 0;
  /// Pods that must not be named, because the outcome of their bind is open: kube-scheduler may not
  /// have them on the node.
  const model::Ledger::Uids& spared;
  const BudgetList& budgets;
  /// Pays for the searches of a pod of several containers. What was found after one of them was
  /// skipped may be wrong.
  model::SearchBudget& searches;
  /// Pays for the sets of victims that are tried, a step for each. Once it is spent, the sets found
  /// so far are made no better, and cheapest_preemption() looks at no more nodes.
  model::SearchBudget& tries;
  VictimOrder order = VictimOrder::kImportance;
};

/// Steps for one preemption: up to 0.2 s. The least important pods of most clusters are found in
/// far fewer.
inline constexpr std::int64_t kVictimTries = 20'000;
/// Of these, for making one set better. Finds the cheapest victims of nearly all cards, with 16
/// sharers of different sizes each.
inline constexpr std::int64_t kMostTriesOfASet = 5'000;

/// Pods that leave a node, and what that costs.
struct VictimSet {
  std::vector<model::AllocationPtr> pods;  ///< the most important first
  /// Those that leave after a budget of theirs is spent: kube-scheduler's count.
  std::int64_t broken_budgets = 0;

  /// By importance kube-scheduler's order (pickOneNodeForPreemption): fewest broken budgets, lowest
  /// priority of the most important victim, lowest sum of priorities, fewest pods. Priorities are
  /// shifted, so that a negative one does not make more pods cheaper.
  using Cost = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::size_t>;
  [[nodiscard]] Cost cost(VictimOrder order = VictimOrder::kImportance) const;
  [[nodiscard]] std::vector<std::string> uids() const;
};

/// What kube-scheduler's own fit looks at, as far as the ledger knows it: CPU, memory and slots.
/// Slots of a node that shows none are not known.
[[nodiscard]] bool fits_in_tree(const model::PodDemand& demand, const model::NodeState& node);
/// Does the node take the pod as it is, in-tree and on its cards?
[[nodiscard]] bool fits(const Preemptor& preemptor, const model::NodeState& node);

/// The cheapest set of victims on the node: of lower priority, granted, not terminating. For a pod
/// that takes one card they are on one card, unless that does not make room. Cheapest of all sets
/// while the tries last; then of those tried, and no victim of it could stay.
/// @param node  with the room kept that is others'
/// @param gone  pods that leave anyway and are not on `node` any more: they count for their budgets
/// @returns nothing if the pod fits as things are, or not even without all of them
[[nodiscard]] std::optional<VictimSet> cheapest_victims(
    const Preemptor& preemptor, const model::NodeState& node,
    const std::vector<model::AllocationPtr>& gone = {});

/// Of all cards that the pod holds.
[[nodiscard]] MilliGpu compute_of(const model::Allocation& allocation);

/// Where to make room, and who leaves.
struct Preemption {
  std::string node;
  VictimSet victims;
};
/// The cheapest of all nodes that breaks no budget, by importance; on a tie the first. Nodes with
/// the least important pods come first, and nodes that the tries and searches do not suffice for
/// are left out.
/// @param nodes  as `node` of cheapest_victims(); none is null
/// @param gone   as of cheapest_victims()
[[nodiscard]] std::optional<Preemption> cheapest_preemption(
    const Preemptor& preemptor, std::vector<const model::NodeState*> nodes,
    const std::vector<model::AllocationPtr>& gone = {});

/// The same for those who only tell whom a pod would preempt. Takes up to 0.3 s.
[[nodiscard]] std::optional<Preemption> expected_preemption(
    const model::PodDemand& demand, const policies::Policy& policy, int priority,
    const BudgetList& budgets, std::vector<const model::NodeState*> nodes,
    const std::vector<model::AllocationPtr>& gone = {});

}  // namespace tangram::cluster
