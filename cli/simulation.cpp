#include "cli/simulation.hpp"

#include "cluster/allocations.hpp"
#include "cluster/in_tree.hpp"
#include "cluster/victims.hpp"
#include "model/fit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tangram::cli {

namespace {

/// Assumes the choice on the node.
Placed assume_on(const kube::Pod& pod, const cluster::PodPlan& plan, const policies::Choice& choice,
                 model::NodeState& node) {
  const model::Allocation allocation =
      cluster::allocation_for(pod, node, plan.demand, choice.placement);
  model::apply_allocation(node, allocation, 1);
  return {allocation.node, allocation.isolation, allocation.containers};
}

}  // namespace

std::string Unplaced::sentence() const {
  std::size_t nodes = 0;
  std::string text;
  for (const auto& [reason, count] : reasons) {
    nodes += count;
    text.append(text.empty() ? "" : "; ").append(std::to_string(count)).append(" × ");
    text += reason;
  }
  if (nodes == 0) return "there is no node with GPU cards";
  return "fits none of " + std::to_string(nodes) + " nodes: " + text;
}

Simulation::Simulation(const model::ClusterSnapshot& cluster,
                       const std::set<std::string>& cordoned) {
  for (const model::NodeState* node : cluster.sorted_nodes()) {
    if (node->present && !node->cards().empty()) {
      nodes_.push_back({.state = *node, .cordoned = cordoned.contains(node->name)});
    }
  }
}

Simulation::Evaluation Simulation::evaluate(const cluster::PodPlan& plan,
                                            const model::NodeState& node, bool cordoned) {
  if (cordoned) return {std::nullopt, "node is cordoned (kubectl uncordon)"};
  const auto lacking = cluster::in_tree_misfit(plan.demand.footprint, node);
  if (!lacking.empty()) return {std::nullopt, std::string(lacking)};
  auto choice = plan.policy->choose(plan.demand, node);
  if (choice) return {std::move(choice), ""};
  return {std::nullopt, std::string(model::reason(model::why_not(plan.demand.gpu, node)))};
}

void Simulation::forget_other_pods(const cluster::PodPlan& plan) {
  if (evaluated_for_ && evaluated_for_->demand == plan.demand &&
      evaluated_for_->policy == plan.policy) {
    return;
  }
  evaluated_for_ = plan;
  for (Candidate& candidate : nodes_) candidate.evaluation.reset();
}

Outcome Simulation::place(const kube::Pod& pod, const cluster::PodPlan& plan) {
  forget_other_pods(plan);
  Unplaced unplaced;
  Candidate* best = nullptr;
  for (Candidate& candidate : nodes_) {
    if (!candidate.evaluation)
      candidate.evaluation = evaluate(plan, candidate.state, candidate.cordoned);
    if (!candidate.evaluation->choice) {
      ++unplaced.reasons[candidate.evaluation->why_not];
    } else if (best == nullptr ||
               candidate.evaluation->choice->score > best->evaluation->choice->score) {
      best = &candidate;
    }
  }
  if (best == nullptr) return unplaced;
  const policies::Choice choice = std::move(*best->evaluation->choice);
  best->evaluation.reset();
  return assume_on(pod, plan, choice, best->state);
}

std::optional<Preempting> Simulation::preempt(const kube::Pod& pod, const cluster::PodPlan& plan,
                                              const cluster::BudgetList& budgets) {
  std::vector<const model::NodeState*> nodes;
  for (const Candidate& candidate : nodes_) {
    if (!candidate.cordoned) nodes.push_back(&candidate.state);
  }
  auto found = cluster::expected_preemption(plan.demand, *plan.policy, pod.priority, budgets,
                                            std::move(nodes), evicted_);
  if (!found) return std::nullopt;
  const auto candidate =
      std::ranges::find(nodes_, found->node, [](const Candidate& one) { return one.state.name; });
  model::NodeState left = model::without_pods(candidate->state, found->victims.uids());
  const auto choice = plan.policy->choose(plan.demand, left);
  if (!choice) return std::nullopt;
  candidate->state = std::move(left);
  candidate->evaluation.reset();
  evicted_.insert(evicted_.end(), found->victims.pods.begin(), found->victims.pods.end());
  return Preempting{assume_on(pod, plan, *choice, candidate->state),
                    std::move(found->victims.pods)};
}

Simulation::Capacity Simulation::capacity(const kube::Pod& pod, const cluster::PodPlan& plan,
                                          std::size_t most) const {
  Capacity capacity;
  for (const Candidate& candidate : nodes_) {
    model::NodeState state = candidate.state;
    std::vector<Placed> pods;
    Evaluation evaluation = evaluate(plan, state, candidate.cordoned);
    if (!evaluation.choice) ++capacity.none.reasons[evaluation.why_not];
    for (; evaluation.choice && capacity.pods < most; ++capacity.pods) {
      pods.push_back(assume_on(pod, plan, *evaluation.choice, state));
      evaluation = evaluate(plan, state, candidate.cordoned);
    }
    capacity.more = capacity.more || evaluation.choice.has_value();
    if (!pods.empty()) capacity.nodes.emplace_back(state.name, std::move(pods));
  }
  return capacity;
}

}  // namespace tangram::cli
