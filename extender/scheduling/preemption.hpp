#pragma once

#include "cluster/victims.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "extender/scheduling/wire.hpp"
#include "kube/objects.hpp"
#include "model/ledger.hpp"
#include "policies/policy.hpp"

#include <map>
#include <optional>
#include <string>

/// Which pods leave a node for one of higher priority. Pure.
///
/// kube-scheduler proposes nodes and victims by what it counts itself (CPU, memory, slots,
/// aggregates) and asks to narrow or change that. It proposes nothing where only one card's room
/// is short and the aggregates are free: see CardPreemptor.
namespace tangram::extender {

/// A pod that may evict others, and what is known for it.
struct PreemptRequest {
  const kube::Pod& pod;
  const model::PodDemand& demand;
  const policies::Policy& policy;
  /// As cluster::Preemptor::spared: kube-scheduler rejects an answer that names such a pod.
  const model::Ledger::Uids& spared;
  /// Null = not known: then no pod dies that kube-scheduler did not name.
  const cluster::BudgetList* budgets;
  model::SearchBudget& searches;  ///< as cluster::Preemptor::searches
  model::SearchBudget& tries;     ///< as cluster::Preemptor::tries
};

/// Chooses the pods to evict so that the preemptor fits the node's cards, CPU, memory and slots.
///
///  1. what is proposed, where it makes room on a card;
///  2. else, where the shortage is one that the ledger can see, the cheapest set on one card (for a
///     pod that takes several cards: on the node), proposed or not;
///  3. else what is proposed (it mends a shortage that only kube-scheduler sees) and the cheapest
///     set beside it.
///
/// Victims are of lower priority, granted and not terminating. Of each set as many as possible are
/// spared: first those whose disruption budget is spent, then by priority, then the smaller ones.
/// A proposal with a pod that must not be named is none. Of several sets the cheapest is
/// kube-scheduler's: fewest broken budgets, then the lowest priority of the most important victim,
/// lowest sum of priorities, fewest pods.
/// @param node  with the room kept that is others' (PodView)
/// @returns nothing if the pod does not fit, or needs no victim
[[nodiscard]] std::optional<Victims> choose_victims(const PreemptRequest& preemptor,
                                                    const model::NodeState& node,
                                                    const Victims& proposed);

/// Keeps the nodes where the pod fits a card once its victims are gone, with their victims. Nodes
/// that the budget of searches does not suffice for are left out.
[[nodiscard]] std::map<std::string, Victims, std::less<>> preempt(
    const std::map<std::string, Victims, std::less<>>& nodes, const PreemptRequest& preemptor,
    const PodView& cluster);

}  // namespace tangram::extender
