#include "cluster/disruption_budgets.hpp"

#include "base/quote.hpp"
#include "cluster/weight.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace tangram::cluster {

namespace {

/// @returns null if it cannot be read
BudgetPtr read(std::string_view object) {
  auto budget = kube::decode_disruption_budget(std::string(object));
  if (budget) return std::make_shared<const kube::DisruptionBudget>(std::move(*budget));
  spdlog::warn("a PodDisruptionBudget could not be read and is left as it was: {}",
               budget.error().message);
  return nullptr;
}

std::size_t weight(const kube::DisruptionBudget& budget) {
  return kPlaceOfItem + budget.ns.size() + budget.name.size() + weight_of(budget);
}

kube::DisruptionBudget without_selector(const kube::DisruptionBudget& budget) {
  kube::DisruptionBudget outline;
  outline.uid = budget.uid;
  outline.ns = budget.ns;
  outline.name = budget.name;
  outline.selector.too_large = true;
  outline.allowed = budget.allowed;
  return outline;
}

}  // namespace

DisruptionBudgets::DisruptionBudgets(std::size_t most_bytes)
    : by_name_({most_bytes, weight, without_selector}),
      listed_({most_bytes, weight, without_selector}) {}

void DisruptionBudgets::put(ByName& budgets, const std::string& key, BudgetPtr budget) {
  const bool complete = budgets.complete();
  const bool has_outlines = budgets.has_outlines();
  const auto left_out = budgets.put(key, std::move(budget));
  if (complete && !budgets.complete()) {
    spdlog::warn(
        "the PodDisruptionBudgets of the cluster take too much memory: the largest are taken to "
        "protect all pods of their namespaces from preemption by card; first {}",
        quote(left_out.front()->ns + "/" + left_out.front()->name));
  }
  if (has_outlines && !budgets.has_outlines()) {
    spdlog::error(
        "there are more PodDisruptionBudgets than there is memory for their names: no pod preempts "
        "others by card until some are deleted");
  }
}

void DisruptionBudgets::begin_list() { listed_.clear(); }

void DisruptionBudgets::listed(std::string_view object) {
  const std::string key = kube::object_key(object);
  if (auto budget = read(object)) {
    put(listed_, key, std::move(budget));
  } else if (auto known = by_name_.find(key); known && !listed_.find(key)) {
    put(listed_, key, std::move(known));
  }
}

void DisruptionBudgets::unlisted(std::string_view object) {
  listed_.erase(kube::object_key(object));
}

void DisruptionBudgets::end_list() {
  std::swap(by_name_, listed_);
  listed_.clear();
  publish();
}

void DisruptionBudgets::change(kube::EventType type, std::string_view object) {
  const std::string key = kube::object_key(object);
  if (type == kube::EventType::kDeleted) {
    by_name_.erase(key);
  } else if (auto budget = read(object)) {
    put(by_name_, key, std::move(budget));
  } else {
    return;
  }
  publish();
}

void DisruptionBudgets::publish() {
  has_room_again_ = by_name_.has_room_again();
  if (!by_name_.has_outlines()) return published_.store(nullptr);
  auto list = std::make_shared<BudgetList>();
  list->reserve(by_name_.all().size());
  for (const auto& [name, budget] : by_name_.all()) list->push_back(budget);
  published_.store(std::move(list));
}

}  // namespace tangram::cluster
