#include "cluster/disruption_budgets.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

namespace tangram::cluster {

namespace {

std::optional<kube::DisruptionBudget> read(std::string object) {
  auto budget = kube::decode_disruption_budget(std::move(object));
  if (budget) return std::move(*budget);
  spdlog::warn("a PodDisruptionBudget could not be read and is left as it was: {}",
               budget.error().message);
  return std::nullopt;
}

std::string full_name(const kube::DisruptionBudget& budget) {
  return budget.ns + "/" + budget.name;  // as kube::object_key()
}

}  // namespace

void DisruptionBudgets::replace(std::vector<std::string> objects) {
  std::map<std::string, kube::DisruptionBudget> listed;
  bool all_read = true;
  for (std::string& object : objects) {
    if (auto budget = read(std::move(object))) {
      listed.insert_or_assign(full_name(*budget), std::move(*budget));
    } else {
      all_read = false;
    }
  }
  // One that cannot be read goes on protecting what it protected before.
  if (!all_read) listed.merge(by_name_);
  by_name_ = std::move(listed);
  publish();
}

void DisruptionBudgets::change(kube::EventType type, std::string object) {
  if (type == kube::EventType::kDeleted) {
    by_name_.erase(kube::object_key(object));
  } else if (auto budget = read(std::move(object))) {
    by_name_.insert_or_assign(full_name(*budget), std::move(*budget));
  } else {
    return;
  }
  publish();
}

void DisruptionBudgets::publish() {
  auto list = std::make_shared<BudgetList>();
  list->reserve(by_name_.size());
  for (const auto& [name, budget] : by_name_) list->push_back(budget);
  published_.store(std::move(list));
}

}  // namespace tangram::cluster
