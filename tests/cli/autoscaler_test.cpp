#include "cli/autoscaler.hpp"

#include "cli/document.hpp"
#include "cli/fill/fill.hpp"
#include "cli/format.hpp"
#include "cli/manifests.hpp"
#include "cli/whatif.hpp"
#include "config/config.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::cli {
namespace {

NodeGroup eight_cards() {
  return {.from = "",
          .instance_type = "p4d.24xlarge",
          .model = "A100-SXM4-80GB",
          .memory = "81559Mi",
          .cards = 8};
}

AutoscalerText text_for(const std::string& kind, const FutureNode& node,
                        const std::string& ns = "") {
  const auto text = autoscaler_text(kind, node, ns);
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  return text ? *text : AutoscalerText{};
}

std::string yaml_of(const AutoscalerText& text) {
  const auto yaml = to_yaml(list_of(text.objects));
  EXPECT_TRUE(yaml);
  return yaml ? *yaml : "";
}

/// A node of the API server, as kubelet and agent write it.
void add_gpu_node(Rig& rig, const std::string& name, const std::vector<model::Card>& cards,
                  const std::string& resources) {
  const std::string all = "{cpu: \"96\", memory: 1Ti, pods: \"110\"" + resources + "}";
  const auto loaded = rig.server.load_yaml(
      "apiVersion: v1\nkind: Node\nmetadata: {name: " + name +
      ", labels: {tangram.dev/gpu: \"true\", tangram.dev/gpu-model: A100, "
      "node.kubernetes.io/instance-type: p4d.24xlarge}, annotations: {tangram.dev/cards: '" +
      model::encode_cards(cards) + "'}}\nstatus: {capacity: " + all + ", allocatable: " + all +
      "}\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
}

TEST(AutoscalerTest, OverlaysAnInstanceTypeForKarpenter) {
  const auto node = described_node(eight_cards());
  ASSERT_TRUE(node);
  const AutoscalerText text = text_for("karpenter", *node);
  EXPECT_EQ(yaml_of(text),
            "apiVersion: karpenter.sh/v1alpha1\n"
            "kind: NodeOverlay\n"
            "metadata:\n"
            "  name: tangram-p4d-24xlarge\n"
            "spec:\n"
            "  requirements:\n"
            "    - key: node.kubernetes.io/instance-type\n"
            "      operator: In\n"
            "      values:\n"
            "        - p4d.24xlarge\n"
            "  capacity:\n"
            "    tangram.dev/gpu-mem-mib: \"652472\"\n"
            "    tangram.dev/gpu-milli: \"8000\"\n"
            "    tangram.dev/gpu-slot: \"128\"\n");
  NodeGroup azure = eight_cards();
  azure.instance_type = "Standard_NC24ads_A100_v4";
  EXPECT_NE(yaml_of(text_for("karpenter", *described_node(azure)))
                .find("name: tangram-standard-nc24ads-a100-v4\n"),
            std::string::npos);
  EXPECT_EQ(text.note,
            "the NodePool needs these labels in spec.template.metadata.labels: "
            "tangram.dev/agent=true, tangram.dev/gpu=true, "
            "tangram.dev/gpu-model=A100-SXM4-80GB");
}

TEST(AutoscalerTest, TagsNodeGroupsForClusterAutoscaler) {
  const auto node = described_node(eight_cards());
  ASSERT_TRUE(node);
  const std::string aws = "k8s.io/cluster-autoscaler/node-template/";
  EXPECT_EQ(text_for("aws", *node).tags,
            (std::vector<std::string>{aws + "label/tangram.dev/agent=true",
                                      aws + "label/tangram.dev/gpu=true",
                                      aws + "label/tangram.dev/gpu-model=A100-SXM4-80GB",
                                      aws + "resources/tangram.dev/gpu-mem-mib=652472",
                                      aws + "resources/tangram.dev/gpu-milli=8000",
                                      aws + "resources/tangram.dev/gpu-slot=128"}));
  const std::string azure = "k8s.io_cluster-autoscaler_node-template_";
  EXPECT_EQ(text_for("azure", *node).tags,
            (std::vector<std::string>{azure + "label_tangram.dev_agent=true",
                                      azure + "label_tangram.dev_gpu=true",
                                      azure + "label_tangram.dev_gpu-model=A100-SXM4-80GB",
                                      azure + "resources_tangram.dev_gpu-mem-mib=652472",
                                      azure + "resources_tangram.dev_gpu-milli=8000",
                                      azure + "resources_tangram.dev_gpu-slot=128"}));
}

TEST(AutoscalerTest, AnnotatesMachineDeploymentsAndSaysWhatTheyCannotName) {
  auto node = described_node(eight_cards());
  ASSERT_TRUE(node);
  const AutoscalerText text = text_for("cluster-api", *node);
  EXPECT_EQ(yaml_of(text),
            "metadata:\n"
            "  annotations:\n"
            "    capacity.cluster-autoscaler.kubernetes.io/gpu-count: \"128\"\n"
            "    capacity.cluster-autoscaler.kubernetes.io/gpu-type: tangram.dev/gpu-slot\n"
            "    capacity.cluster-autoscaler.kubernetes.io/labels: "
            "\"node.kubernetes.io/instance-type=p4d.24xlarge,tangram.dev/agent=true,"
            "tangram.dev/gpu=true,tangram.dev/gpu-model=A100-SXM4-80GB\""
            "\n");
  EXPECT_NE(text.note.find("tangram.dev/gpu-mem-mib=652472, tangram.dev/gpu-milli=8000"),
            std::string::npos);
  node->aggregates.reset();
  EXPECT_EQ(text_for("cluster-api", *node).note, "");
}

TEST(AutoscalerTest, ReadsARunningNode) {
  Rig rig;
  auto broken = testing::card("GPU-2", "A100", Mebibytes(40'000));
  broken.healthy = false;
  // Pods that were resized hold more in the capacity than the cards have.
  add_gpu_node(rig, "gpu-1", {testing::card("GPU-1", "A100", Mebibytes(80'000)), broken},
               ", tangram.dev/gpu-slot: \"32\", tangram.dev/gpu-milli: \"2500\", "
               "tangram.dev/gpu-mem-mib: \"200000\"");
  const auto node = node_like(rig.api, {.from = "gpu-1"});
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->instance_type, "p4d.24xlarge");
  EXPECT_EQ(node->model_label, "A100");
  EXPECT_EQ(node->cards, 2);
  EXPECT_EQ(node->slots, 32);
  EXPECT_EQ(node->aggregates, (FutureNode::Capacity{MilliGpu(2000), Mebibytes(120'000)}));
  EXPECT_EQ(node->smallest_card, Mebibytes(40'000));
  EXPECT_FALSE(node->equal_cards);
}

TEST(AutoscalerTest, NamesNoAggregatesThatTheAgentDoesNotPublish) {
  Rig rig;
  add_gpu_node(rig, "gpu-1", {testing::card("GPU-1")}, ", tangram.dev/gpu-slot: \"16\"");
  const auto node = node_like(rig.api, {.from = "gpu-1"});
  ASSERT_TRUE(node) << node.error().message;
  const std::string yaml = yaml_of(text_for("karpenter", *node));
  EXPECT_NE(yaml.find("gpu-slot"), std::string::npos) << yaml;
  EXPECT_EQ(yaml.find("gpu-milli"), std::string::npos) << yaml;
  const auto headroom = autoscaler_text("headroom", *node, "");
  ASSERT_FALSE(headroom);
  EXPECT_NE(headroom.error().message.find("--aggregates=true"), std::string::npos);
}

TEST(AutoscalerTest, SaysWhatIsMissing) {
  Rig rig;
  add_gpu_node(rig, "new", {testing::card("GPU-1")}, "");
  add_gpu_node(rig, "plain", {}, "");
  const auto error_of = [&](const std::string& from) {
    const auto node = node_like(rig.api, {.from = from});
    return node ? "" : node.error().message;
  };
  EXPECT_EQ(error_of("new"), "node new has no slots yet; `kubectl tangram doctor` says why");
  EXPECT_EQ(error_of("plain"), "node plain has no cards yet; `kubectl tangram doctor` says why");
  EXPECT_EQ(error_of("none"), "there is no node none; see `kubectl get nodes`");
  EXPECT_FALSE(described_node({.from = "", .model = "A100"}));
  NodeGroup small = eight_cards();
  small.memory = "80";
  const auto wrong = described_node(small);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("--memory \"80\" is not the memory of a card"),
            std::string::npos);
  NodeGroup untyped = eight_cards();
  untyped.instance_type = "";
  EXPECT_FALSE(autoscaler_text("karpenter", *described_node(untyped), ""));
  EXPECT_TRUE(autoscaler_text("aws", *described_node(untyped), ""));
}

/// The pods of the headroom, as the webhook completes them.
std::vector<kube::Pod> headroom_pods(const FutureNode& node) {
  Filled filled;
  const auto done = fill("headroom", yaml_of(text_for("headroom", node, "ml")),
                         extender::admission_settings(config::Config{}), filled);
  EXPECT_TRUE(done);
  EXPECT_EQ(joined(filled.refusals), "");
  const auto manifests = read_manifests(filled_yaml(filled), "ml");
  EXPECT_TRUE(manifests) << manifests.error().message;
  return manifests ? manifests->pods : std::vector<kube::Pod>();
}

TEST(AutoscalerTest, HeadroomTakesAllAggregatesOfANode) {
  const auto node = described_node(eight_cards());
  ASSERT_TRUE(node);
  const std::string yaml = yaml_of(text_for("headroom", *node, "ml"));
  EXPECT_NE(yaml.find("kind: PriorityClass"), std::string::npos);
  EXPECT_NE(yaml.find("namespace: ml"), std::string::npos);
  Filled filled;
  ASSERT_TRUE(fill("headroom", yaml, extender::admission_settings(config::Config{}), filled));
  const std::string text = filled_yaml(filled);
  // No other pod that counts in one of them fits by the sums, and kube-scheduler preempts.
  EXPECT_NE(text.find("tangram.dev/gpu-milli: \"8000\""), std::string::npos) << text;
  EXPECT_NE(text.find("tangram.dev/gpu-mem-mib: \"652472\""), std::string::npos) << text;
}

TEST(AutoscalerTest, HeadroomOfOtherNodesIsAnotherDeployment) {
  const auto yaml_for = [](NodeGroup group) {
    return yaml_of(text_for("headroom", *described_node(group)));
  };
  NodeGroup group = eight_cards();
  const std::string metadata =
      "name: tangram-headroom-p4d-24xlarge-a100-sxm4-80gb-x8\n"
      "      labels:\n"
      "        app.kubernetes.io/instance: p4d-24xlarge-a100-sxm4-80gb-x8\n"
      "        app.kubernetes.io/name: tangram-headroom\n";
  const std::string yaml = yaml_for(group);
  EXPECT_NE(yaml.find(metadata), std::string::npos) << yaml;
  EXPECT_NE(
      yaml.find(
          "matchLabels:\n          app.kubernetes.io/instance: p4d-24xlarge-a100-sxm4-80gb-x8\n"),
      std::string::npos)
      << yaml;
  EXPECT_NE(
      yaml.find(
          "labels:\n            app.kubernetes.io/instance: p4d-24xlarge-a100-sxm4-80gb-x8\n"),
      std::string::npos)
      << yaml;
  group.cards = 4;
  EXPECT_NE(yaml_for(group).find("name: tangram-headroom-p4d-24xlarge-a100-sxm4-80gb-x4\n"),
            std::string::npos);
  group.model = "NVIDIA RTX 6000 " + std::string(40, 'X');
  group.instance_type = std::string(60, 'y');
  group.cards = 64;
  const std::string cut = yaml_for(group);
  const std::size_t at = cut.find("app.kubernetes.io/instance: ") + 28;
  EXPECT_LE(cut.find('\n', at) - at, 63U) << cut;
}

TEST(AutoscalerTest, HeadroomStaysOnNodesOfItsGroup) {
  const auto selects = [](const FutureNode& node, const std::string& label) {
    return yaml_of(text_for("headroom", node)).find(label) != std::string::npos;
  };
  FutureNode node = *described_node(eight_cards());
  EXPECT_TRUE(selects(node, "tangram.dev/gpu-model: A100-SXM4-80GB"));
  EXPECT_TRUE(selects(node, "node.kubernetes.io/instance-type: p4d.24xlarge"));
  EXPECT_EQ(text_for("headroom", node).note, "");
  node.model_label.clear();
  EXPECT_FALSE(selects(node, "tangram.dev/gpu-model"));
  node.instance_type.clear();
  EXPECT_FALSE(selects(node, "instance-type"));
  node.equal_cards = false;
  const std::string note = text_for("headroom", node).note;
  EXPECT_NE(note.find("write --instance-type"), std::string::npos) << note;
  EXPECT_NE(note.find("unequal memory"), std::string::npos) << note;
}

TEST(AutoscalerTest, HeadroomFitsOnlyAnIdleNode) {
  Rig rig;
  const auto cards = [](const std::string& node) {
    return std::vector{testing::card("GPU-" + node + "0"), testing::card("GPU-" + node + "1")};
  };
  rig.add_node("a", cards("a"));
  rig.add_node("b", cards("b"));
  rig.add_bound("small", "0.1", "a", {testing::granted("GPU-a0", 8'192, 100)});
  NodeGroup group = eight_cards();
  group.cards = 2;
  group.memory = "81920Mi";
  auto node = described_node(group);
  ASSERT_TRUE(node);
  const std::vector<kube::Pod> pods = headroom_pods(*node);
  ASSERT_EQ(pods.size(), 1U);
  const auto cluster = rig.cluster();
  const auto results = what_if(*cluster, {.pods = {pods[0], pods[0]}}, Webhook::kInstalled);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].place.node, "b") << results[0].why;
  EXPECT_EQ(results[1].fate, WhatIf::Fate::kWaits);
}

}  // namespace
}  // namespace tangram::cli
