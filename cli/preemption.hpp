#pragma once

#include "cluster/disruption_budgets.hpp"
#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <map>
#include <string>
#include <vector>

/// What decides which pods would be evicted for pods that do not exist yet.
namespace tangram::cli {

struct PriorityClass {
  int value = 0;
  bool never_preempts = false;
  bool is_default = false;  ///< of pods that name none
};

struct PreemptionFacts {
  std::map<std::string, PriorityClass, std::less<>> classes;
  cluster::BudgetList budgets;
  std::string problem;  ///< why they are not known; empty = they are
};
[[nodiscard]] PreemptionFacts read_preemption_facts(kube::KubeApi& api);

/// Sets the pod's priority, as the API server does for one that names this class; "" = none.
/// @returns why the API server would refuse it; empty = it would not
[[nodiscard]] std::string set_priority(kube::Pod& pod, const std::string& class_name,
                                       const PreemptionFacts& facts);

/// The budgets once these pods have been evicted.
[[nodiscard]] cluster::BudgetList after_evictions(const cluster::BudgetList& budgets,
                                                  const std::vector<model::AllocationPtr>& pods);

}  // namespace tangram::cli
