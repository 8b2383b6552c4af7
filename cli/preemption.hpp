#pragma once

#include "base/result.hpp"
#include "cluster/disruption_budgets.hpp"
#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <map>
#include <string>

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

/// All of the cluster. @returns as list(); kUnavailable if one cannot be read: it may protect pods
Result<cluster::BudgetList> list_budgets(kube::KubeApi& api);

/// Sets the pod's priority, as the API server does for one that names this class; "" = none.
/// @returns why the API server would refuse it; empty = it would not
[[nodiscard]] std::string set_priority(kube::Pod& pod, const std::string& class_name,
                                       const PreemptionFacts& facts);

}  // namespace tangram::cli
