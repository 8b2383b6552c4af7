#include "cluster/disruption_budgets.hpp"

#include "base/quote.hpp"
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

std::size_t weight_of_entry(const std::string& key, const BudgetPtr& budget) {
  return weight_of(key) + weight_of(budget);
}

BudgetPtr without_selector(const kube::DisruptionBudget& budget) {
  kube::DisruptionBudget small;
  small.uid = budget.uid;
  small.ns = budget.ns;
  small.name = budget.name;
  small.selector.too_large = true;
  small.allowed = budget.allowed;
  return std::make_shared<const kube::DisruptionBudget>(std::move(small));
}

}  // namespace

void DisruptionBudgets::ByName::put(const std::string& key, BudgetPtr budget) {
  erase(key);
  if (weight_ + weight_of_entry(key, budget) > most_bytes_) {
    budget = without_selector(*budget);
    if (!std::exchange(full_, true)) {
      spdlog::warn(
          "PodDisruptionBudgets take more than {} bytes: further ones are taken to protect all "
          "pods of their namespaces from preemption by card; now {}",
          most_bytes_, quote_if_needed(key));
    }
  }
  weight_ += weight_of_entry(key, budget);
  budgets_.emplace(key, std::move(budget));
}

void DisruptionBudgets::ByName::erase(const std::string& key) {
  const auto found = budgets_.find(key);
  if (found == budgets_.end()) return;
  weight_ -= weight_of_entry(key, found->second);
  budgets_.erase(found);
}

BudgetPtr DisruptionBudgets::ByName::find(const std::string& key) const {
  const auto found = budgets_.find(key);
  return found == budgets_.end() ? nullptr : found->second;
}

void DisruptionBudgets::begin_list() { listed_.clear(); }

void DisruptionBudgets::listed(std::string object) {
  const std::string key = kube::object_key(object);
  if (auto budget = read(std::move(object))) {
    listed_.put(key, std::move(budget));
  } else if (auto known = by_name_.find(key); known && !listed_.find(key)) {
    listed_.put(key, std::move(known));
  }
}

void DisruptionBudgets::unlisted(std::string object) { listed_.erase(kube::object_key(object)); }

void DisruptionBudgets::end_list() {
  std::swap(by_name_, listed_);
  listed_.clear();
  publish();
}

void DisruptionBudgets::change(kube::EventType type, std::string object) {
  const std::string key = kube::object_key(object);
  if (type == kube::EventType::kDeleted) {
    by_name_.erase(key);
  } else if (auto budget = read(std::move(object))) {
    by_name_.put(key, std::move(budget));
  } else {
    return;
  }
  publish();
}

void DisruptionBudgets::publish() {
  auto list = std::make_shared<BudgetList>();
  list->reserve(by_name_.all().size());
  for (const auto& [name, budget] : by_name_.all()) list->push_back(budget);
  published_.store(std::move(list));
}

}  // namespace tangram::cluster
