#include "cli/preemption.hpp"

#include "base/json_members.hpp"
#include "base/quote.hpp"
#include "cli/api_reading.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace tangram::cli {

namespace {

constexpr const char* kClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
constexpr const char* kBudgets = "/apis/policy/v1/poddisruptionbudgets";

void add_class(std::string object, PreemptionFacts& facts) {
  std::string name;
  std::int64_t value = 0;
  std::string policy;
  PriorityClass read;
  json::Reader in(object);
  json::read_members(in, "metadata", json::members("name", name), "value", value, "globalDefault",
                     read.is_default, "preemptionPolicy", policy);
  if (!in.finish()) return;
  read.value = static_cast<int>(value);
  read.never_preempts = policy == "Never";
  facts.classes.insert_or_assign(std::move(name), read);
}

}  // namespace

Result<cluster::BudgetList> list_budgets(kube::KubeApi& api) {
  cluster::BudgetList budgets;
  Result<void> all_read;
  const auto listed = list(api, kBudgets, {}, [&](std::string text) {
    auto budget = kube::decode_disruption_budget(std::move(text));
    if (budget) {
      budgets.push_back(std::make_shared<const kube::DisruptionBudget>(*std::move(budget)));
    } else if (all_read) {
      all_read = fail(Errc::kUnavailable,
                      "a PodDisruptionBudget cannot be read: " + budget.error().message);
    }
  });
  if (!listed) return listed.error();
  if (!all_read) return all_read.error();
  return budgets;
}

PreemptionFacts read_preemption_facts(kube::KubeApi& api) {
  PreemptionFacts facts;
  const auto note = [&](const Error& error) {
    // A server that stands in for one may have no such kind.
    if (error.code != Errc::kNotFound) facts.problem = error.message;
  };
  const auto listed =
      list(api, kClasses, {}, [&](std::string text) { add_class(std::move(text), facts); });
  if (!listed) note(listed.error());
  auto budgets = list_budgets(api);
  if (budgets) {
    facts.budgets = *std::move(budgets);
  } else {
    note(budgets.error());
  }
  return facts;
}

std::string set_priority(kube::Pod& pod, const std::string& class_name,
                         const PreemptionFacts& facts) {
  const auto by_name = facts.classes.find(class_name);
  const auto by_default =
      std::ranges::find_if(facts.classes, [](const auto& one) { return one.second.is_default; });
  const auto found = class_name.empty() ? by_default : by_name;
  if (found != facts.classes.end()) {
    pod.priority = found->second.value;
    pod.never_preempts = found->second.never_preempts;
  } else if (!class_name.empty()) {
    return "there is no PriorityClass " + quote(class_name);
  }
  return "";
}

}  // namespace tangram::cli
