#include "cluster/disruption_budgets.hpp"

#include "tests/testing/kube_builders.hpp"
#include "tests/testing/odd_fields.hpp"
#include "tests/testing/send_list.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::cluster {
namespace {

using testing::budget_json;
using testing::send_list;
using testing::with_odd_fields;

/// It has a selector that cannot be read.
constexpr const char* kUnreadable =
    R"({"metadata":{"name":"db","uid":"u"},"spec":{"selector":{"matchLabels":[]}}})";

TEST(DisruptionBudgetsTest, ReadsBudgetsPastTheirManagedFields) {
  DisruptionBudgets budgets;
  send_list(budgets, {with_odd_fields(budget_json("db", "db"))});
  budgets.change(kube::EventType::kAdded, with_odd_fields(budget_json("web", "web")));
  EXPECT_EQ(budgets.all()->size(), 2U);
}

TEST(DisruptionBudgetsTest, OneThatCannotBeReadProtectsUntilItIsGone) {
  DisruptionBudgets budgets;
  send_list(budgets, {budget_json("db", "db")});
  budgets.change(kube::EventType::kModified, kUnreadable);
  EXPECT_EQ(budgets.all()->size(), 1U);
  send_list(budgets, {kUnreadable});
  EXPECT_EQ(budgets.all()->size(), 1U);
  budgets.change(kube::EventType::kDeleted, kUnreadable);
  EXPECT_TRUE(budgets.all()->empty());
}

TEST(DisruptionBudgetsTest, ForgetsWhatAListLacks) {
  DisruptionBudgets budgets;
  send_list(budgets, {budget_json("db", "db"), budget_json("web", "web")});
  send_list(budgets, {budget_json("web", "web")});
  ASSERT_EQ(budgets.all()->size(), 1U);
  EXPECT_EQ(budgets.all()->front()->name, "web");
}

/// A budget with so many values, all empty.
std::string with_values(const std::string& name, std::size_t values) {
  std::string list = R"("")";
  for (std::size_t i = 1; i < values; ++i) list += R"(,"")";
  return R"({"metadata":{"name":")" + name +
         R"("},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[)" +
         list + "]}]}}}";
}

TEST(DisruptionBudgetsTest, WeighsWhatItKeepsOfAList) {
  constexpr std::size_t kValues = 200;
  DisruptionBudgets budgets;
  budgets.begin_list();
  budgets.listed(budget_json("db", "db"));
  const std::size_t one = budgets.kept_bytes();
  EXPECT_GT(one, sizeof(kube::DisruptionBudget));
  budgets.listed(with_values("web", kValues));
  EXPECT_GT(budgets.kept_bytes(), one + kValues * sizeof(std::string));
  budgets.listed(with_values("web", kValues));
  budgets.unlisted(with_values("web", kValues));
  EXPECT_EQ(budgets.kept_bytes(), one);
  budgets.end_list();
  EXPECT_EQ(budgets.kept_bytes(), 0U);
}

TEST(DisruptionBudgetsTest, KeepsLittleOfLargeSelectors) {
  DisruptionBudgets budgets;
  budgets.begin_list();
  for (int i = 0; i < 10; ++i) budgets.listed(with_values(std::to_string(i), 100'000));
  EXPECT_LT(budgets.kept_bytes(), 10U * 1'000);
  budgets.end_list();
  ASSERT_EQ(budgets.all()->size(), 10U);
  EXPECT_TRUE(budgets.all()->front()->covers("", "pod", {}));
}

/// Such a list was refused as a whole, again and again, so no pod could preempt by card.
class ManyBudgetsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMost = 50'000;
  static constexpr int kCount = 50;
  static std::string large(int i) { return with_values(std::to_string(i), 200); }
  /// The honest budget is as it was; large ones protect their namespace.
  void expect_bounded() const {
    ASSERT_EQ(budgets_.all()->size(), static_cast<std::size_t>(kCount) + 1);
    int without_selector = 0;
    for (const BudgetPtr& budget : *budgets_.all()) {
      if (budget->name == "db") {
        EXPECT_FALSE(budget->selector.too_large);
        continue;
      }
      without_selector += budget->selector.too_large ? 1 : 0;
      EXPECT_EQ(budget->covers("", "pod", {}), budget->selector.too_large);
      EXPECT_FALSE(budget->covers("other", "pod", {}));
    }
    EXPECT_GT(without_selector, 30);
  }
  DisruptionBudgets budgets_{kMost};
};

TEST_F(ManyBudgetsTest, OfAListTakeLittle) {
  budgets_.begin_list();
  for (int i = 0; i < kCount; ++i) {
    budgets_.listed(large(i));
    ASSERT_LE(budgets_.kept_bytes(), kMost);
  }
  budgets_.listed(budget_json("db", "db"));
  budgets_.end_list();
  expect_bounded();
}

TEST_F(ManyBudgetsTest, OfAWatchTakeLittleWhateverChanges) {
  send_list(budgets_, {budget_json("db", "db")});
  for (int i = 0; i < kCount; ++i) budgets_.change(kube::EventType::kAdded, large(i));
  for (int i = 0; i < kCount; ++i) {
    budgets_.change(kube::EventType::kModified, budget_json("db", "db"));
  }
  expect_bounded();
}

TEST(DisruptionBudgetsTest, WithoutRoomForNamesNoneIsKnown) {
  DisruptionBudgets budgets(1'000);
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back(budget_json(std::to_string(i), "a"));
  send_list(budgets, many);
  EXPECT_EQ(budgets.all(), nullptr);
  EXPECT_FALSE(budgets.has_room_again());
  for (const std::string& budget : many) budgets.change(kube::EventType::kDeleted, budget);
  EXPECT_TRUE(budgets.has_room_again());
  send_list(budgets, {budget_json("a", "a")});
  EXPECT_FALSE(budgets.has_room_again());
  EXPECT_EQ(budgets.all()->size(), 1U);
}

TEST(DisruptionBudgetsTest, AChangeCopiesNoOtherBudget) {
  DisruptionBudgets budgets;
  send_list(budgets, {budget_json("db", "db")});
  const auto* const before = &budgets.all()->front()->name;
  budgets.change(kube::EventType::kAdded, budget_json("web", "web"));
  EXPECT_EQ(&budgets.all()->front()->name, before);
}

}  // namespace
}  // namespace tangram::cluster
