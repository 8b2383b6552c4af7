#include "cluster/movers.hpp"

#include <algorithm>

namespace tangram::cluster {

Movers::Movers(const MoveQuestion& question) : question_(question) {
  for (const BudgetPtr& budget : question.budgets) {
    if (budget->allowed <= 0) spent_budgets_[budget->ns].push_back(budget.get());
  }
}

bool Movers::has(const model::Allocation& pod) const {
  if (pod.tentative || pod.terminating || pod.containers.empty()) return false;
  if (removed_.contains(pod.pod_uid)) return false;
  const auto spent = spent_budgets_.find(pod.pod_namespace);
  const bool is_covered =
      spent != spent_budgets_.end() && std::ranges::any_of(spent->second, [&](const auto* budget) {
        return budget->covers(pod.pod_namespace, pod.pod_name, pod.labels.get());
      });
  return !is_covered && question_.movable(pod);
}

const PlacelessPod* Movers::next_of(const model::Allocation& pod) {
  const auto [entry, is_new] = next_pods_.try_emplace(pod.pod_uid);
  if (is_new) entry->second = question_.next_pod(pod);
  return entry->second.get();
}

}  // namespace tangram::cluster
