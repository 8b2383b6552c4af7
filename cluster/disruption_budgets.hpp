#pragma once

#include "cluster/shared_ledger.hpp"
#include "kube/disruption_budget.hpp"
#include "kube/reflector.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tangram::cluster {

using BudgetList = std::vector<kube::DisruptionBudget>;

/// The PodDisruptionBudgets of the cluster, as the watch shows them. Written by one reflector's
/// thread, read from any.
class DisruptionBudgets final : public kube::WholeListSink {
 public:
  void replace(std::vector<std::string> objects) override;
  void change(kube::EventType type, std::string object) override;

  /// @returns never null
  [[nodiscard]] std::shared_ptr<const BudgetList> all() const { return published_.load(); }

 private:
  void publish();

  std::map<std::string, kube::DisruptionBudget> by_name_;  ///< "ns/name"; the reflector's thread
  Published<BudgetList> published_{std::make_shared<const BudgetList>()};
};

}  // namespace tangram::cluster
