// What the length of the short-list does to a pod's preferences, which kube-scheduler scores, and
// to its hard rules: see docs/policies.md, "Short-list and weight".

#include "tests/e2e/fixture.hpp"

#include <set>

namespace tangram::e2e {
namespace {

using Nodes = std::multiset<std::string>;

/// Short-list and weight are as shipped.
struct Setting {
  int short_list = 1;
  int weight = 121;
  std::string policy = "binpack";
};

/// Four nodes with a card each. A pod is on the first one, which binpack therefore prefers.
class PreferenceTest : public E2eTest {
 protected:
  PreferenceTest() {
    std::vector<NodeSpec> nodes;
    for (const char* name : {"one", "two", "three", "four"}) {
      nodes.push_back(node_with_cards(name, 1));
    }
    cluster_.add_nodes(nodes);
  }

  /// Binds `pods` pods of a tenth of a card, one after the other. @returns their nodes
  Nodes nodes_of(int pods, const std::string& rules, const Setting& setting) {
    PodWatcher watcher(*api_);
    ExtenderProcess extender(
        {.settings = {"scheduler.policy=" + setting.policy,
                      "scheduler.short_list=" + std::to_string(setting.short_list)}});
    extender.start_ready();
    const Process scheduler = start_scheduler(
        {.name = "preferences", .extender_url = extender.url(), .weight = setting.weight});
    PodSpec first = fraction_pod("first", "0.1");
    first.node_selector = {{"kubernetes.io/hostname", "one"}};
    const auto node_of = [&](const PodSpec& pod) {
      cluster_.add_pods({pod});
      const auto seen = watcher.wait_pod_bound(pod.name, 30s);
      EXPECT_TRUE(seen) << pod.name;
      return seen ? seen->node : "";
    };
    EXPECT_EQ(node_of(first), "one");
    Nodes nodes;
    for (int i = 0; i < pods && !HasFailure(); ++i) {
      PodSpec pod = fraction_pod("pod-" + std::to_string(i), "0.1");
      pod.labels = {{"app", "train"}};
      pod.rules = rules;
      nodes.insert(node_of(pod));
    }
    expect_books_right(extender);
    return nodes;
  }

  static std::string prefers(const std::string& node) {
    return R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[)"
           R"({"weight":100,"preference":{"matchExpressions":[)"
           R"({"key":"kubernetes.io/hostname","operator":"In","values":[")" +
           node + R"("]}]}}]}})";
  }
  static std::string spread(const std::string& when_unsatisfiable) {
    return R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"kubernetes.io/hostname",)"
           R"("labelSelector":{"matchLabels":{"app":"train"}},"whenUnsatisfiable":")" +
           when_unsatisfiable + R"("}])";
  }
  static std::size_t distinct(const Nodes& nodes) {
    return std::set<std::string>(nodes.begin(), nodes.end()).size();
  }
};

TEST_F(PreferenceTest, OneNodeLeavesPreferredAffinityWithoutEffect) {
  EXPECT_EQ(nodes_of(1, prefers("four"), {}), Nodes{"one"});
}

TEST_F(PreferenceTest, MoreNodesWithASmallWeightGivePreferredAffinityItsSay) {
  EXPECT_EQ(nodes_of(1, prefers("four"), {.short_list = 8, .weight = 1}), Nodes{"four"});
}

TEST_F(PreferenceTest, MoreNodesWithTheShippedWeightDoNot) {
  EXPECT_EQ(nodes_of(1, prefers("four"), {.short_list = 8, .weight = 121}), Nodes{"one"});
}

TEST_F(PreferenceTest, OneNodeLeavesSoftTopologySpreadWithoutEffect) {
  EXPECT_EQ(nodes_of(4, spread("ScheduleAnyway"), {}), (Nodes{"one", "one", "one", "one"}));
}

TEST_F(PreferenceTest, MoreNodesWithASmallWeightGiveSoftTopologySpreadItsSay) {
  EXPECT_EQ(distinct(nodes_of(4, spread("ScheduleAnyway"), {.short_list = 8, .weight = 1})), 4U);
}

TEST_F(PreferenceTest, OneNodeKeepsHardTopologySpread) {
  EXPECT_EQ(distinct(nodes_of(4, spread("DoNotSchedule"), {})), 4U);
}

TEST_F(PreferenceTest, ThePolicySpreadNeedsNoPreference) {
  EXPECT_GE(distinct(nodes_of(4, spread("ScheduleAnyway"), {.policy = "spread"})), 3U)
      << "the first pod's node is not the emptiest";
}

}  // namespace
}  // namespace tangram::e2e
