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
///
/// Any user may write a budget. Where all take too much memory, further ones go without their
/// selectors and protect all pods of their namespaces, the safe side of DisruptionBudget::covers().
class DisruptionBudgets final : public kube::ObjectSink {
 public:
  /// Of all with selectors, in bytes: 50,000 ordinary ones take a quarter.
  static constexpr std::size_t kMostBytes = std::size_t{128} << 20U;

  explicit DisruptionBudgets(std::size_t most_bytes = kMostBytes)
      : by_name_(most_bytes), listed_(most_bytes) {}

  void begin_list() override;
  void listed(std::string object) override;
  void unlisted(std::string object) override;
  void end_list() override;
  void change(kube::EventType type, std::string object) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return listed_.weight(); }

  /// @returns never null
  [[nodiscard]] std::shared_ptr<const BudgetList> all() const { return published_.load(); }

 private:
  /// Budgets by "ns/name", and what they weigh.
  class ByName {
   public:
    explicit ByName(std::size_t most_bytes) : most_bytes_(most_bytes) {}
    void put(const std::string& key, BudgetPtr budget);
    void erase(const std::string& key);
    void clear() { *this = ByName(most_bytes_); }
    /// @returns null if there is none
    [[nodiscard]] BudgetPtr find(const std::string& key) const;
    [[nodiscard]] const std::map<std::string, BudgetPtr>& all() const { return budgets_; }
    [[nodiscard]] std::size_t weight() const { return weight_; }

   private:
    std::size_t most_bytes_;
    std::size_t weight_ = 0;
    bool full_ = false;  ///< some went without their selectors
    std::map<std::string, BudgetPtr> budgets_;
  };
  void publish();

  // Of the reflector's thread.
  ByName by_name_;
  ByName listed_;  ///< of the list that is being read

  Published<BudgetList> published_{std::make_shared<const BudgetList>()};
};

}  // namespace tangram::cluster
