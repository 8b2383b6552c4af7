#include "cluster/disruption_budgets.hpp"

#include "tests/testing/kube_builders.hpp"
#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

namespace tangram::cluster {
namespace {

using testing::budget_json;
using testing::with_odd_fields;

/// It has a selector that cannot be read.
constexpr const char* kUnreadable =
    R"({"metadata":{"name":"db","uid":"u"},"spec":{"selector":{"matchLabels":[]}}})";

TEST(DisruptionBudgetsTest, ReadsBudgetsPastTheirManagedFields) {
  DisruptionBudgets budgets;
  budgets.replace({with_odd_fields(budget_json("db", "db"))});
  budgets.change(kube::EventType::kAdded, with_odd_fields(budget_json("web", "web")));
  EXPECT_EQ(budgets.all()->size(), 2U);
}

TEST(DisruptionBudgetsTest, OneThatCannotBeReadProtectsUntilItIsGone) {
  DisruptionBudgets budgets;
  budgets.replace({budget_json("db", "db")});
  budgets.change(kube::EventType::kModified, kUnreadable);
  EXPECT_EQ(budgets.all()->size(), 1U);
  budgets.replace({kUnreadable});
  EXPECT_EQ(budgets.all()->size(), 1U);
  budgets.change(kube::EventType::kDeleted, kUnreadable);
  EXPECT_TRUE(budgets.all()->empty());
}

}  // namespace
}  // namespace tangram::cluster
