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
  return what_if(*rig.cluster(), *manifests, webhook);
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

/// Classes low, high and polite, and the default one.
constexpr const char* kClasses = R"({"metadata":{"resourceVersion":"1"},"items":[
  {"metadata":{"name":"usual"},"value":10,"globalDefault":true},
  {"metadata":{"name":"high"},"value":1000},
  {"metadata":{"name":"polite"},"value":1000,"preemptionPolicy":"Never"}]})";

/// Node a has two cards with two halves each, of pods with the priorities 0, 20, 20 and 20.
class WhatIfPreemptionTest : public ::testing::Test {
 protected:
  WhatIfPreemptionTest() {
    rig_.api.answer("/apis/scheduling.k8s.io/v1/priorityclasses", kClasses);
    rig_.add_node("a", {testing::card("GPU-a0"), testing::card("GPU-a1")});
    for (int i = 0; i < 4; ++i) {
      testing::PodText pod;
      pod.name = "p" + std::to_string(i);
      pod.annotations = {{"tangram.dev/gpu-fraction", "0.5"}};
      pod.limits = {{"tangram.dev/gpu-slot", "1"}};
      pod.labels = {{"app", pod.name}};
      pod.priority = i == 0 ? 0 : 20;
      rig_.bind(pod.name, rig_.add_pod(pod), "a",
                {testing::granted(i < 2 ? "GPU-a0" : "GPU-a1", 40'960, 500)});
    }
  }
  static std::string pod(const std::string& name, const std::string& share,
                         const std::string& members) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", annotations: {tangram.dev/gpu-fraction: \"" + share + "\"}}\nspec: {" + members +
           " containers: [{name: main}]}\n";
  }
  std::vector<WhatIf> tried(const std::string& text) {
    const auto manifests = read_manifests(text, "ml");
    if (!manifests) throw std::runtime_error(manifests.error().message);
    const PreemptionFacts facts = read_preemption_facts(rig_.api);
    EXPECT_EQ(facts.problem, "");
    return what_if(*rig_.cluster(), *manifests, Webhook::kInstalled, &facts);
  }
  using Names = std::vector<std::string>;

  Rig rig_;
};

TEST_F(WhatIfPreemptionTest, NamesThePodsThatWouldBeEvicted) {
  const auto pods = tried(pod("urgent", "0.5", "priorityClassName: high,") +
                          pod("next", "1", "priorityClassName: high,"));
  ASSERT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods[0].fate, WhatIf::Fate::kPreempts);
  EXPECT_EQ(pods[0].victims, Names{"ml/p0 (priority 0)"});
  EXPECT_EQ(pods[0].place.containers.at(0).cards.at(0).uuid, "GPU-a0");
  EXPECT_EQ(pods[0].why, "evicts ml/p0 (priority 0) from node a");
  EXPECT_EQ(pods[1].victims, (Names{"ml/p2 (priority 20)", "ml/p3 (priority 20)"}))
      << "of the other card: urgent is as important";
  EXPECT_TRUE(all_placed(pods));
  EXPECT_NE(draw_whatif(file_screen(), pods, false)
                .find("2 of 2 GPU pods would be placed, 2 by evicting others; nothing was written"),
            std::string::npos);
}

TEST_F(WhatIfPreemptionTest, TheDefaultClassCountsAndPolitePodsEvictNobody) {
  const auto pods =
      tried(pod("usual", "0.5", "") + pod("polite", "0.5", "priorityClassName: polite,"));
  EXPECT_EQ(pods[0].victims, Names{"ml/p0 (priority 0)"}) << "its priority is 10";
  EXPECT_EQ(pods[1].fate, WhatIf::Fate::kWaits);
}

TEST_F(WhatIfPreemptionTest, AClassThatDoesNotExistIsRefused) {
  const auto pods = tried(pod("p", "0.5", "priorityClassName: none-such,"));
  EXPECT_EQ(pods[0].fate, WhatIf::Fate::kRefused);
  EXPECT_EQ(pods[0].why, "there is no PriorityClass \"none-such\"");
}

TEST_F(WhatIfPreemptionTest, ABudgetIsSpentOnce) {
  rig_.api.answer("/apis/policy/v1/poddisruptionbudgets",
                  R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"b",)"
                  R"("namespace":"ml"},"spec":{"selector":{"matchExpressions":[{"key":"app",)"
                  R"("operator":"Exists"}]}},"status":{"disruptionsAllowed":1}}]})");
  const auto pods = tried(pod("first", "0.5", "priorityClassName: high,") +
                          pod("second", "0.5", "priorityClassName: high,"));
  EXPECT_EQ(pods[0].victims, Names{"ml/p0 (priority 0)"});
  EXPECT_EQ(pods[1].fate, WhatIf::Fate::kWaits);
}

TEST_F(WhatIfPreemptionTest, WithoutTheRightToReadClassesNobodyIsEvicted) {
  rig_.api.answer("/apis/scheduling.k8s.io/v1/priorityclasses", 403,
                  R"({"kind":"Status","message":"not for you"})");
  EXPECT_NE(read_preemption_facts(rig_.api).problem.find("tangram-viewer"), std::string::npos);
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
            R"("milli":250}]}],"victims":[],"why":""}],"allPlaced":true})");
}

}  // namespace
}  // namespace tangram::cli
