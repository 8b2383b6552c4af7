#include "kube/disruption_budget.hpp"

#include "tests/testing/odd_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tangram::kube {
namespace {

DisruptionBudget budget(const std::string& spec, const std::string& status = "{}") {
  auto decoded = decode_disruption_budget(
      R"({"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ml","uid":"u"},"spec":)" +
      spec + R"(,"status":)" + status + "}");
  EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
  return decoded ? *decoded : DisruptionBudget{};
}

TEST(DisruptionBudgetTest, ReadsWhatCounts) {
  const auto read =
      budget(R"({"minAvailable":1,"selector":{"matchLabels":{"app":"db"}}})",
             R"({"disruptionsAllowed":2,"disruptedPods":{"db-1":"2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(read.ns, "ml");
  EXPECT_EQ(read.name, "b");
  EXPECT_EQ(read.allowed, 2);
  EXPECT_TRUE(read.covers("ml", "db-0", {{"app", "db"}}));
  EXPECT_FALSE(read.covers("ml", "db-1", {{"app", "db"}})) << "its eviction is under way";
  EXPECT_FALSE(read.covers("other", "db-0", {{"app", "db"}}));
  EXPECT_FALSE(read.covers("ml", "web-0", {{"app", "web"}}));
  EXPECT_FALSE(read.covers("ml", "bare", {}));
}

TEST(DisruptionBudgetTest, PassesOverManagedFields) {
  const auto read = decode_disruption_budget(testing::with_odd_fields(
      R"({"metadata":{"name":"b","namespace":"ml","uid":"u"},"spec":{"selector":{"matchExpressions":)"
      R"([{"key":"app","operator":"In","values":["db"]}]}},"status":{"disruptionsAllowed":2}})"));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->allowed, 2);
  EXPECT_TRUE(read->covers("ml", "db-0", {{"app", "db"}}));
}

TEST(DisruptionBudgetTest, ACountBeyond32BitsIsNotCutToOneWithin) {
  EXPECT_EQ(budget("{}", R"({"disruptionsAllowed":4294967297})").allowed, 2'147'483'647);
  EXPECT_EQ(budget("{}", R"({"disruptionsAllowed":-1})").allowed, 0);
}

TEST(DisruptionBudgetTest, AnEmptySelectorCoversNothing) {
  EXPECT_FALSE(budget(R"({"selector":{}})").covers("ml", "p", {{"app", "db"}}));
  EXPECT_FALSE(budget(R"({"selector":null})").covers("ml", "p", {{"app", "db"}}));
  EXPECT_FALSE(budget("{}").covers("ml", "p", {{"app", "db"}}));
}

TEST(LabelSelectorTest, KnowsTheFourOperators) {
  const auto selects = [](const std::string& term, const Labels& labels) {
    return budget(R"({"selector":{"matchExpressions":[)" + term + "]}}").covers("ml", "p", labels);
  };
  const std::string in = R"({"key":"tier","operator":"In","values":["a","b"]})";
  EXPECT_TRUE(selects(in, {{"tier", "b"}}));
  EXPECT_FALSE(selects(in, {{"tier", "c"}}));
  EXPECT_FALSE(selects(in, {{"other", "a"}}));
  const std::string not_in = R"({"key":"tier","operator":"NotIn","values":["a"]})";
  EXPECT_FALSE(selects(not_in, {{"tier", "a"}}));
  EXPECT_TRUE(selects(not_in, {{"other", "a"}}));
  EXPECT_TRUE(selects(R"({"key":"tier","operator":"Exists"})", {{"tier", "x"}}));
  EXPECT_FALSE(selects(R"({"key":"tier","operator":"Exists"})", {{"other", "x"}}));
  EXPECT_TRUE(selects(R"({"key":"tier","operator":"DoesNotExist"})", {{"other", "x"}}));
  EXPECT_FALSE(selects(R"({"key":"tier","operator":"Gt","values":["1"]})", {{"tier", "2"}}));
}

TEST(LabelSelectorTest, AllTermsMustHold) {
  const auto both = budget(
      R"({"selector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]}})");
  EXPECT_TRUE(both.covers("ml", "p", {{"a", "1"}, {"b", ""}}));
  EXPECT_FALSE(both.covers("ml", "p", {{"a", "1"}}));
}

// Of these texts single quotes stand for double ones.

std::string in_json(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}
/// `count` of them, with commas between; "N" stands for the number of each.
std::string many(const std::string& item, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = item;
    one.replace(one.find('N'), 1, std::to_string(i));
    list.append(list.empty() ? "" : ",").append(one);
  }
  return list;
}
std::string labels_selector(std::size_t terms) {
  return "{'selector':{'matchLabels':{" + many("'keyN':''", terms) + "}}}";
}
std::string terms_selector(std::size_t terms) {
  return "{'selector':{'matchExpressions':[" + many("{'key':'keyN','operator':'Exists'}", terms) +
         "]}}";
}
std::string values_selector(const std::string& values) {
  return "{'selector':{'matchExpressions':[{'key':'a','operator':'In','values':[" + values +
         "]},{'key':'b','operator':'DoesNotExist'}]}}";
}

TEST(LabelSelectorTest, CountsExactlyUpToItsLimits) {
  for (const std::string& spec : {labels_selector(64), terms_selector(64)}) {
    const auto read = budget(in_json(spec));
    EXPECT_EQ(read.selector.terms.size(), 64U);
    EXPECT_FALSE(read.covers("ml", "p", {{"key63", ""}}));
  }
  const std::string longest = "'" + std::string(317, 'x') + "'";
  for (const std::string& values : {many("'N'", 256), "'255'," + longest}) {
    const auto read = budget(in_json(values_selector(values)));
    EXPECT_TRUE(read.covers("ml", "p", {{"a", "255"}}));
    EXPECT_FALSE(read.covers("ml", "p", {{"a", "256"}}));
    EXPECT_FALSE(read.covers("ml", "p", {}));
  }
}

TEST(LabelSelectorTest, CoversAllPodsOfItsNamespacePastThem) {
  const std::string too_long = "'" + std::string(318, 'x') + "'";
  const std::string key_too_long = "{'selector':{'matchLabels':{" + too_long + ":''}}}";
  for (const std::string& spec :
       {labels_selector(65), terms_selector(65), values_selector(many("'N'", 257)),
        values_selector(too_long), key_too_long}) {
    const auto read = budget(in_json(spec), R"({"disruptedPods":{"gone":""}})");
    EXPECT_TRUE(read.selector.terms.empty()) << spec;
    EXPECT_TRUE(read.covers("ml", "p", {{"b", ""}})) << spec;
    EXPECT_TRUE(read.covers("ml", "p", {})) << "nor is it known which labels would do";
    EXPECT_FALSE(read.covers("other", "p", {{"b", ""}}));
    EXPECT_FALSE(read.covers("ml", "gone", {{"b", ""}}));
  }
}

TEST(DisruptionBudgetTest, KeepsNoMoreEvictedPodsThanTheServerAllows) {
  const auto read = budget("{}", in_json("{'disruptedPods':{" + many("'pod-N':''", 2'001) + "}}"));
  EXPECT_EQ(read.disrupted.size(), 2'000U);
}

TEST(DisruptionBudgetTest, RefusesWhatIsNone) {
  EXPECT_FALSE(decode_disruption_budget("[]").has_value());
  EXPECT_FALSE(decode_disruption_budget("{}").has_value());
  EXPECT_FALSE(decode_disruption_budget(R"({"metadata":{"name":7}})").has_value());
}

}  // namespace
}  // namespace tangram::kube
