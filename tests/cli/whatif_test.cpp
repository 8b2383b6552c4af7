#include "cli/whatif.hpp"

#include "cli/manifests.hpp"
#include "cli/webhook.hpp"
#include "tests/cli/rig.hpp"

#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

constexpr const char* kPods = R"(
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: prod}
spec:
  replicas: 2
  template:
    metadata: {annotations: {tangram.dev/gpu-mem: 60Gi}}
    spec: {containers: [{name: main}]}
---
apiVersion: v1
kind: Pod
metadata: {name: wrong, annotations: {tangram.dev/gpu-fraction: "0.3333"}}
spec: {containers: [{name: main}]}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: batch-}
spec: {template: {spec: {containers: [{name: main}]}}}
)";

std::vector<WhatIf> tried(Rig& rig, const std::string& text,
                          Webhook webhook = Webhook::kInstalled) {
  const auto manifests = read_manifests(text, "ml");
  if (!manifests) throw std::runtime_error(manifests.error().message);
  return what_if(*rig.cluster(), manifests->pods, webhook);
}

TEST(ManifestsTest, MakesThePodsOfWorkloads) {
  const auto manifests = read_manifests(kPods, "ml");
  ASSERT_TRUE(manifests) << manifests.error().message;
  std::vector<std::string> names;
  for (const kube::Pod& pod : manifests->pods) names.push_back(pod.full_name());
  EXPECT_EQ(names, (std::vector<std::string>{"ml/first", "prod/web-0", "prod/web-1", "ml/wrong",
                                             "ml/batch-"}));
  EXPECT_EQ(manifests->skipped, std::vector<std::string>{"ConfigMap settings"});
  EXPECT_EQ(manifests->pods[0].footprint.slots, 0) << "as written";
  EXPECT_EQ(manifests->pods[0].footprint.cpu, MilliCpu(1'000));
  EXPECT_EQ(manifests->pods[4].footprint.slots, 0);
}

TEST(WebhookTest, KeepsASlotThatIsThere) {
  auto manifests = read_manifests(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: a}, {name: b, resources: {limits: {tangram.dev/gpu-slot: 1}}}]}
)",
                                  "ml");
  ASSERT_TRUE(manifests);
  add_slots(manifests->pods.at(0));
  EXPECT_EQ(manifests->pods.at(0).footprint.slots, 1);
  EXPECT_EQ(manifests->pods.at(0).containers.at(0).slots, 0);
}

TEST(ManifestsTest, SaysOnWhichLineWhatIsWrong) {
  const auto message = [](const std::string& text) {
    const auto manifests = read_manifests(text, "ml");
    return manifests ? "" : manifests.error().message;
  };
  EXPECT_EQ(message("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {}\n"),
            "line 1: spec.template: missing");
  EXPECT_NE(message("apiVersion: v1\nkind: Pod\nmetadata: {name: ok}\nspec: {containers: []}\n---\n"
                    "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r}\n"
                    "spec: {replicas: 100000}\n")
                .find("line 6: creates 100000 pods; a file may create 0 to 10000 in all"),
            std::string::npos);
  EXPECT_NE(message("a: [").find("line"), std::string::npos);
}

TEST(WhatIfTest, PlacesEachOnTopOfThoseBefore) {
  Rig rig;
  rig.fill();  // a: GPU-a0 half free, GPU-a1 free; b: a T4
  const auto pods = tried(rig, kPods);
  ASSERT_EQ(pods.size(), 5U);
  EXPECT_EQ(pods[0].fate, WhatIf::Fate::kPlaced);
  EXPECT_EQ(pods[1].fate, WhatIf::Fate::kPlaced);
  EXPECT_EQ(pods[1].place.containers.at(0).cards.at(0).uuid, "GPU-a1");
  EXPECT_EQ(pods[2].fate, WhatIf::Fate::kWaits) << "60Gi are on no card any more";
  EXPECT_EQ(pods[3].fate, WhatIf::Fate::kRefused);
  EXPECT_EQ(pods[4].fate, WhatIf::Fate::kNoGpu);
  EXPECT_FALSE(all_placed(pods));
}

TEST(WhatIfTest, KnowsOfEveryPodWhatThoseBeforeItTook) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a0")});
  rig.add_node("b", {testing::card("GPU-b0")});
  const auto pod = [](const std::string& name, const std::string& share) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", annotations: {tangram.dev/gpu-fraction: \"" + share +
           "\"}}\nspec: {containers: [{name: main}]}\n";
  };
  // Like pods one after the other, with another kind between.
  const auto pods = tried(rig, pod("p0", "0.5") + pod("p1", "0.5") + pod("q", "0.75") +
                                   pod("p2", "0.5") + pod("r", "0.25") + pod("p3", "0.5"));
  std::vector<std::string> nodes;
  for (const WhatIf& each : pods) nodes.push_back(each.place.node);
  EXPECT_EQ(nodes, (std::vector<std::string>{"a", "a", "b", "", "b", ""}));
}

constexpr const char* kHalf = R"(
apiVersion: v1
kind: Pod
metadata: {name: half, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: main}]}
)";

TEST(WhatIfTest, APodWithoutASlotWaitsWhereNoWebhookAddsOne) {
  Rig rig;
  rig.fill();
  const auto pods = tried(rig, kHalf, Webhook::kMissing);
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods[0].fate, WhatIf::Fate::kWaits);
  EXPECT_EQ(pods[0].why,
            "container \"main\" requests a GPU and has no slot, so kube-scheduler does not ask "
            "Tangram about the pod; write tangram.dev/gpu-slot: 1 in its resources.limits");
  EXPECT_FALSE(all_placed(pods));
  for (const Webhook webhook : {Webhook::kInstalled, Webhook::kUnknown}) {
    EXPECT_EQ(tried(rig, kHalf, webhook)[0].fate, WhatIf::Fate::kPlaced);
  }
}

TEST(WhatIfTest, APodThatNamesItsNodeGetsNoCard) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a0")});
  const std::string named =
      std::string(kHalf).replace(std::string(kHalf).find("{containers"), 1, "{nodeName: a, ");
  const auto pods = tried(rig, named + "---" + kHalf + "---" + kHalf);
  ASSERT_EQ(pods.size(), 3U);
  EXPECT_EQ(pods[0].fate, WhatIf::Fate::kRefused);
  EXPECT_EQ(pods[0].why, model::node_name_mistake("a"));
  EXPECT_EQ(pods[1].fate, WhatIf::Fate::kPlaced) << "it took nothing";
  EXPECT_EQ(pods[2].fate, WhatIf::Fate::kPlaced);
}

TEST(WebhookTest, IsFoundByItsService) {
  Rig rig;
  const std::string path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
  const auto found = [&] { return find_webhook(rig.api, "tangram-system").webhook; };
  const auto configuration = [](const std::string& ns) {
    return R"({"items":[{"metadata":{"name":"x"},"webhooks":[{"clientConfig":{"service":)"
           R"({"name":"tangram-webhook","namespace":")" +
           ns + R"("}}}]}]})";
  };
  rig.api.answer(path, R"({"items":[]})");
  EXPECT_EQ(found(), Webhook::kMissing);
  rig.api.answer(path, configuration("elsewhere"));
  EXPECT_EQ(found(), Webhook::kMissing);
  rig.api.answer(path, configuration("tangram-system"));
  EXPECT_EQ(found(), Webhook::kInstalled);
  rig.api.answer(path, 403, R"({"kind":"Status","message":"not for you"})");
  EXPECT_EQ(found(), Webhook::kUnknown);
  EXPECT_EQ(
      find_webhook(rig.api, "tangram-system").problem,
      "mutatingwebhookconfigurations: 403: not for you; ask for the ClusterRole tangram-viewer "
      "of deploy/cli/rbac.yaml");
}

TEST(WhatIfTest, WritesNothing) {
  Rig rig;
  rig.fill();
  (void)tried(rig, kPods);
  for (const kube::Request& request : rig.api.calls()) {
    EXPECT_EQ(request.method, kube::Method::kGet) << request.path;
  }
}

TEST(WhatIfTest, DrawsWhereAndWhy) {
  Rig rig;
  rig.fill();
  EXPECT_EQ(draw_whatif(file_screen(), tried(rig, kPods), false),
            R"(POD         REQUEST  NODE  GRANT       CARDS
ml/first    0.5      a     40Gi, 0.5   GPU-a0
prod/web-0  60Gi     a     60Gi, 0.75  GPU-a1
prod/web-1  60Gi     -     waits       -
ml/wrong    -        -     refused     -
ml/batch-   -        -     no-gpu      -

prod/web-1 waits: fits none of 2 nodes: 1 × no GPU card has enough free memory and compute; 1 × request is larger than the node's GPU cards
ml/wrong refused: tangram.dev/gpu-fraction: "0.3333" has more than three decimals; write 0.333
ml/batch- no-gpu: requests no GPU: kube-scheduler places it alone

2 of 4 GPU pods would be placed; nothing was written
)");
}

TEST(WhatIfTest, WritesJson) {
  Rig rig;
  rig.add_node("a", {testing::card("GPU-a0")});
  const auto pods = tried(rig,
                          "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: "
                          "{tangram.dev/gpu-fraction: \"0.25\"}}\nspec: {containers: [{name: "
                          "main}]}\n");
  EXPECT_TRUE(all_placed(pods));
  EXPECT_EQ(whatif_json(pods),
            R"({"pods":[{"namespace":"ml","name":"p","request":"0.25","fate":"placed","node":"a",)"
            R"("containers":[{"name":"main","cards":[{"uuid":"GPU-a0","memMiB":20480,)"
            R"("milli":250}]}],"why":""}],"allPlaced":true})");
}

}  // namespace
}  // namespace tangram::cli
