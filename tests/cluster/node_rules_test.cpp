#include "cluster/node_rules.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tangram::cluster {
namespace {

PodRules pod_rules(const std::string& spec) {
  auto rules = read_pod_rules("{\"metadata\":{\"name\":\"p\"},\"spec\":{" + spec + "}}");
  if (!rules) throw std::runtime_error(rules.error().message);
  return *rules;
}
NodeRules node_rules(const std::string& labels, const std::string& spec = "") {
  auto rules =
      read_node_rules("{\"metadata\":{\"labels\":{" + labels + "}},\"spec\":{" + spec + "}}");
  if (!rules) throw std::runtime_error(rules.error().message);
  return *rules;
}

TEST(NodeRulesTest, FollowTheNodeSelector) {
  const PodRules pod = pod_rules(R"("nodeSelector":{"zone":"a"})");
  EXPECT_TRUE(takes(node_rules(R"("zone":"a","x":"y")"), pod));
  EXPECT_FALSE(takes(node_rules(R"("zone":"b")"), pod));
  EXPECT_FALSE(takes(node_rules(""), pod));
  EXPECT_TRUE(takes(node_rules(""), pod_rules("")));
}

TEST(NodeRulesTest, TakeNoPodOnACordonedNode) {
  const NodeRules node = node_rules("", R"("unschedulable":true)");
  EXPECT_FALSE(takes(node, pod_rules("")));
  EXPECT_TRUE(takes(node, pod_rules(R"("tolerations":[{"operator":"Exists"}])")))
      << "as kube-scheduler does";
}

TEST(NodeRulesTest, TakeNoPodOnANodeThatIsNotReadyWhateverItTolerates) {
  const auto node = [](const std::string& status) {
    return *read_node_rules(R"({"status":{"conditions":[{"type":"Ready","status":")" + status +
                            R"("}]}})");
  };
  const PodRules pod = pod_rules(R"("tolerations":[{"operator":"Exists"}])");
  EXPECT_TRUE(takes(node("True"), pod));
  EXPECT_FALSE(takes(node("False"), pod));
  EXPECT_FALSE(takes(node("Unknown"), pod));
}

TEST(NodeRulesTest, NeedATolerationOfEachHardTaint) {
  const NodeRules node =
      node_rules("", R"("taints":[{"key":"gpu","value":"yes","effect":"NoSchedule"},)"
                     R"({"key":"soft","effect":"PreferNoSchedule"}])");
  const auto taken = [&](const std::string& toleration) {
    return takes(node, pod_rules("\"tolerations\":[" + toleration + "]"));
  };
  EXPECT_FALSE(taken(""));
  EXPECT_TRUE(taken(R"({"operator":"Exists"})"));
  EXPECT_TRUE(taken(R"({"key":"gpu","operator":"Exists","effect":"NoSchedule"})"));
  EXPECT_TRUE(taken(R"({"key":"gpu","value":"yes"})"));
  EXPECT_FALSE(taken(R"({"key":"gpu","value":"no"})"));
  EXPECT_FALSE(taken(R"({"key":"gpu","operator":"Exists","effect":"NoExecute"})"));
  EXPECT_FALSE(taken(R"({"key":"gpu","operator":"Newer"})"));
  const NodeRules sick = node_rules("", R"("taints":[{"key":"sick","effect":"NoExecute"}])");
  EXPECT_FALSE(takes(sick, pod_rules("")));
  EXPECT_TRUE(takes(sick, pod_rules(R"("tolerations":[{"operator":"Exists"}])")));
  EXPECT_FALSE(
      takes(sick, pod_rules(R"("tolerations":[{"operator":"Exists","tolerationSeconds":60}])")))
      << "it would be evicted again";
}

TEST(NodeRulesTest, FollowRequiredNodeAffinity) {
  const auto affinity = [](const std::string& terms) {
    return pod_rules(R"("affinity":{"nodeAffinity":{)"
                     R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
                     terms + "]}}}");
  };
  const NodeRules node = node_rules(R"("zone":"a","gen":"5")");
  EXPECT_TRUE(takes(
      node, affinity(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]})")));
  EXPECT_FALSE(takes(
      node, affinity(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]})")));
  EXPECT_TRUE(takes(
      node, affinity(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]},)"
                     R"({"matchExpressions":[{"key":"gen","operator":"Exists"}]})")));
  EXPECT_FALSE(takes(
      node, affinity(R"({"matchExpressions":[{"key":"gen","operator":"Gt","values":["4"]}]})")))
      << "not known here";
  EXPECT_FALSE(takes(
      node,
      affinity(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]})")));
  EXPECT_FALSE(takes(node, affinity("{}")));
  EXPECT_FALSE(takes(node, affinity("")));
}

TEST(NodeRulesTest, AreOpenWhereOtherPodsCount) {
  const auto open = [](const std::string& spec) { return pod_rules(spec).open_rule; };
  const std::string required =
      R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]})";
  EXPECT_EQ(open(R"("affinity":{"podAffinity":)" + required + "}"),
            "it must run beside certain pods");
  EXPECT_EQ(open(R"("affinity":{"podAntiAffinity":)" + required + "}"),
            "it must not run beside certain pods");
  EXPECT_EQ(open(R"("topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}])"),
            "its pods must be spread");
  EXPECT_EQ(open(R"("topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}])"), "");
  EXPECT_EQ(open(R"("containers":[{"resources":{"limits":{"rdma/hca":"1","cpu":"1"}}}])"),
            "it requests other devices");
  EXPECT_EQ(open(R"("containers":[{"resources":{"requests":{"ephemeral-storage":"1Gi"}}}])"),
            "it requests ephemeral storage");
  EXPECT_EQ(open(R"("containers":[{"resources":{"limits":{"tangram.dev/gpu-slot":"1"}}}])"), "");
  EXPECT_EQ(open(R"("initContainers":[{"ports":[{"hostPort":80}]}])"),
            "it needs a port of its node");
  EXPECT_EQ(open(R"("containers":[{"ports":[{"containerPort":1,"hostPort":80}]}])"),
            "it needs a port of its node");
  EXPECT_EQ(open(R"("affinity":{"podAntiAffinity":)"
                 R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}})"),
            "");
}

}  // namespace
}  // namespace tangram::cluster
