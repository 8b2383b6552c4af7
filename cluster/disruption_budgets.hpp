#pragma once

#include "cluster/shared_ledger.hpp"
#include "kube/disruption_budget.hpp"
#include "kube/reflector.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tangram::cluster {

using BudgetPtr = std::shared_ptr<const kube::DisruptionBudget>;
using BudgetList = std::vector<BudgetPtr>;  ///< none is null

/// The PodDisruptionBudgets of the cluster, as the watch shows them. One that cannot be read goes
/// on protecting what it protected before. Written by one reflector's thread, read from any.
class DisruptionBudgets final : public kube::ObjectSink {
 public:
  void begin_list() override;
  void listed(std::string object) override;
  void unlisted(std::string object) override;
  void end_list() override;
  void change(kube::EventType type, std::string object) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return kept_; }

  /// @returns never null
  [[nodiscard]] std::shared_ptr<const BudgetList> all() const { return published_.load(); }

 private:
  using ByName = std::map<std::string, BudgetPtr>;  ///< by "ns/name"

  void keep(const std::string& key, BudgetPtr budget);
  void drop(const std::string& key);
  void publish();

  // Of the reflector's thread.
  ByName by_name_;
  ByName listed_;         ///< of the list that is being read
  std::size_t kept_ = 0;  ///< weight of listed_

  Published<BudgetList> published_{std::make_shared<const BudgetList>()};
};

}  // namespace tangram::cluster
