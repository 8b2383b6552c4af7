#include "cluster/disruption_budgets.hpp"

#include "cluster/weight.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace tangram::cluster {

namespace {

/// @returns null if it cannot be read
BudgetPtr read(std::string object) {
  auto budget = kube::decode_disruption_budget(std::move(object));
  if (budget) return std::make_shared<const kube::DisruptionBudget>(std::move(*budget));
  spdlog::warn("a PodDisruptionBudget could not be read and is left as it was: {}",
               budget.error().message);
  return nullptr;
}

}  // namespace

void DisruptionBudgets::begin_list() {
  listed_.clear();
  kept_ = 0;
}

void DisruptionBudgets::listed(std::string object) {
  const std::string key = kube::object_key(object);
  if (auto budget = read(std::move(object))) {
    keep(key, std::move(budget));
  } else if (const auto known = by_name_.find(key);
             known != by_name_.end() && !listed_.contains(key)) {
    keep(key, known->second);
  }
}

void DisruptionBudgets::unlisted(std::string object) { drop(kube::object_key(object)); }

void DisruptionBudgets::keep(const std::string& key, BudgetPtr budget) {
  drop(key);
  kept_ += weight_of(key) + weight_of(budget);
  listed_.emplace(key, std::move(budget));
}

void DisruptionBudgets::drop(const std::string& key) {
  const auto found = listed_.find(key);
  if (found == listed_.end()) return;
  kept_ -= weight_of(key) + weight_of(found->second);
  listed_.erase(found);
}

void DisruptionBudgets::end_list() {
  by_name_ = std::exchange(listed_, {});
  kept_ = 0;
  publish();
}

void DisruptionBudgets::change(kube::EventType type, std::string object) {
  const std::string key = kube::object_key(object);
  if (type == kube::EventType::kDeleted) {
    by_name_.erase(key);
  } else if (auto budget = read(std::move(object))) {
    by_name_.insert_or_assign(key, std::move(budget));
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
