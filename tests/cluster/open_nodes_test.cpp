#include "cluster/open_nodes.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::testing {
namespace {

TEST(OpenNodesTest, PayForEachQuestionAndAskNoMoreAfterARefusal) {
  model::NodeTable table;
  table.put(node(inventory("a", {card("a/0")})));
  table.put(node(inventory("b", {card("b/0")})));
  const auto cluster = table.publish();
  int asked = 0;
  const cluster::OpenNodes::Takes takes = [&](const kube::Pod& pod, const model::NodeState& node) {
    ++asked;
    return pod.name == node.name;
  };
  model::SearchBudget steps(3);
  cluster::OpenNodes open(*cluster, takes, steps);
  kube::Pod pod;
  pod.name = "a";
  const auto a = cluster->index_of("a").value();
  const auto b = cluster->index_of("b").value();
  EXPECT_TRUE(open.take(pod, a));
  EXPECT_FALSE(open.take(pod, b));
  EXPECT_FALSE(open.take(pod, b));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(steps.spent());
  EXPECT_TRUE(open.take(pod, a));
  EXPECT_TRUE(steps.spent());
}

}  // namespace
}  // namespace tangram::testing
