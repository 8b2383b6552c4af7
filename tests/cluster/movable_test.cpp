#include "cluster/movable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tangram::cluster {
namespace {

TEST(MovablePodsTest, ArePodsOfReplicaSetsAndStatefulSetsAndThoseThatAreLabelled) {
  kube::Pod pod;
  const auto may = [&](const std::string& kind, const std::string& label = "") {
    pod.controller.kind = kind;
    pod.labels.clear();
    if (!label.empty()) pod.labels["tangram.dev/movable"] = label;
    return may_move(pod);
  };
  EXPECT_TRUE(may("ReplicaSet"));
  EXPECT_TRUE(may("StatefulSet"));
  EXPECT_FALSE(may("ReplicaSet", "false"));
  EXPECT_FALSE(may("ReplicaSet", "maybe"));
  EXPECT_FALSE(may("Job"));
  EXPECT_TRUE(may("Job", "true"));
  for (const char* never : {"", "DaemonSet", "Node"}) EXPECT_FALSE(may(never, "true")) << never;
}

TEST(MovablePodsTest, StandAlone) {
  kube::Pod pod;
  pod.controller.kind = "StatefulSet";
  EXPECT_TRUE(may_move(pod));
  kube::Pod late = pod;
  late.binds_late = true;
  EXPECT_FALSE(may_move(late));
  kube::Pod member = pod;
  member.group = {.kind = kube::GroupOfPod::Kind::kKueue, .name = "job"};
  EXPECT_FALSE(may_move(member));
  pod.labels["leaderworkerset.sigs.k8s.io/name"] = "set";
  EXPECT_FALSE(may_move(pod));
}

TEST(MovablePodsTest, AreCoveredByOneBudgetAtMost) {
  const auto budget = [](const std::string& app) {
    kube::DisruptionBudget one;
    one.ns = "ml";
    one.name = app;
    one.selector.terms.push_back(
        {.key = "app", .op = kube::LabelSelector::Operator::kIn, .values = {app}});
    return std::make_shared<const kube::DisruptionBudget>(one);
  };
  model::Allocation pod;
  pod.pod_namespace = "ml";
  pod.labels = {{"app", "chat"}};
  EXPECT_TRUE(can_be_evicted(pod, {budget("chat"), budget("other")}));
  EXPECT_FALSE(can_be_evicted(pod, {budget("chat"), budget("chat")}));
  pod.labels = {};
  EXPECT_FALSE(can_be_evicted(pod, {})) << "it has too many labels to be known";
}

}  // namespace
}  // namespace tangram::cluster
