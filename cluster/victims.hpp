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

/// Which pods have to leave a node so that one of higher priority fits. Pure.
namespace tangram::cluster {

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
  /// Pays for looking for fewer victims than the first set found, a step for each set tried.
  model::SearchBudget& refinements;
};

/// Steps that find the cheapest victims of nearly all cards, 16 sharers of different sizes each, in
/// up to 50 ms a node.
inline constexpr std::int64_t kRefinements = 5'000;

/// Pods that leave a node, and what that costs.
struct VictimSet {
  std::vector<model::AllocationPtr> pods;  ///< the most important first
  /// Those that leave after a budget of theirs is spent: kube-scheduler's count.
  std::int64_t broken_budgets = 0;

  /// kube-scheduler's order (pickOneNodeForPreemption): fewest broken budgets, lowest priority of
  /// the most important victim, lowest sum of priorities, fewest pods. Priorities are shifted, so
  /// that a negative one does not make more pods cheaper.
  using Cost = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::size_t>;
  [[nodiscard]] Cost cost() const;
  [[nodiscard]] std::vector<std::string> uids() const;
};

/// What kube-scheduler's own fit looks at, as far as the ledger knows it: CPU, memory and slots.
/// Slots of a node that shows none are not known.
[[nodiscard]] bool fits_in_tree(const model::PodDemand& demand, const model::NodeState& node);
/// Does the node take the pod as it is, in-tree and on its cards?
[[nodiscard]] bool fits(const Preemptor& preemptor, const model::NodeState& node);

/// The cheapest set of victims on the node: of lower priority, granted, not terminating. For a pod
/// that takes one card they are on one card, unless that does not make room. Cheapest of all sets
/// while `refinements` last; then of those tried, and no victim of it could stay.
/// @param node  with the room kept that is others'
/// @param gone  pods that leave anyway and are not on `node` any more: they count for their budgets
/// @returns nothing if the pod fits as things are, or not even without all of them
[[nodiscard]] std::optional<VictimSet> cheapest_victims(
    const Preemptor& preemptor, const model::NodeState& node,
    const std::vector<model::AllocationPtr>& gone = {});

/// Where to make room, and who leaves.
struct Preemption {
  std::string node;
  VictimSet victims;
};
/// The cheapest of all nodes that breaks no budget; on a tie the first.
/// @param nodes  as `node` of cheapest_victims(); none is null
/// @returns nothing if there is none, or a search was skipped
[[nodiscard]] std::optional<Preemption> cheapest_preemption(
    const Preemptor& preemptor, std::vector<const model::NodeState*> nodes);

}  // namespace tangram::cluster
