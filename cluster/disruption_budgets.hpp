#pragma once

#include "base/bounded_items.hpp"
#include "cluster/shared_ledger.hpp"
#include "kube/disruption_budget.hpp"
#include "kube/reflector.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tangram::cluster {

using BudgetPtr = std::shared_ptr<const kube::DisruptionBudget>;
using BudgetList = std::vector<BudgetPtr>;  ///< none is null

/// The PodDisruptionBudgets of the cluster, as the watch shows them. One that cannot be read goes
/// on protecting what it protected before. Written by one reflector's thread, read from any.
///
/// Any user may write a budget. Where all take too much memory, the largest go without their
/// selectors, until they change or are listed again, and protect all pods of their namespaces: the
/// safe side of DisruptionBudget::covers(). Who runs the reflector lists again at has_room_again().
class DisruptionBudgets final : public kube::ObjectSink {
 public:
  /// 100,000 ordinary ones take a quarter. Pods and nodes need the rest of the extender's 2 GiB.
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

  explicit DisruptionBudgets(std::size_t most_bytes = kMostBytes);

  void begin_list() override;
  void listed(std::string_view object) override;
  void unlisted(std::string_view object) override;
  void end_list() override;
  void change(kube::EventType type, std::string_view object) override;
  [[nodiscard]] std::size_t kept_bytes() const override { return listed_.weight(); }

  /// @returns null if there is no room even for their names, so that some are not known
  [[nodiscard]] std::shared_ptr<const BudgetList> all() const { return published_.load(); }

  /// Some were left out, and a new list shows them. Threads: any.
  [[nodiscard]] bool has_room_again() const { return has_room_again_; }

 private:
  using ByName = BoundedItems<kube::DisruptionBudget>;  ///< by "ns/name"

  static void put(ByName& budgets, const std::string& key, BudgetPtr budget);
  void publish();

  // Of the reflector's thread.
  ByName by_name_;
  ByName listed_;  ///< of the list that is being read

  std::atomic<bool> has_room_again_ = false;
  Published<BudgetList> published_{std::make_shared<const BudgetList>()};
};

}  // namespace tangram::cluster
