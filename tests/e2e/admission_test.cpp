// Pods on a real API server with the shipped registrations of the webhook.

#include "base/file.hpp"
#include "source_dir.hpp"
#include "tests/e2e/fixture.hpp"
#include "tests/e2e/injector.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"
#include "tests/e2e/webhook.hpp"
#include "tests/e2e/wrong_pods.hpp"

#include <iostream>

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSlot = "tangram.dev/gpu-slot";

/// A manifest as a user writes it: annotations and one container.
std::string annotated(const std::string& name, const std::string& annotations) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  annotations:\n    " +
         annotations + "\nspec:\n  containers:\n    - {name: main, image: registry.example/t:1}\n";
}

/// A node with the cards of other systems' examples and the aggregates that an agent publishes.
NodeSpec gpu_node(const std::string& name, int cards = 8) {
  NodeSpec node = node_with_cards(name, cards);
  node.aggregates = true;
  return node;
}

class AdmissionTest : public E2eTest {
 protected:
  AdmissionTest() : webhook_(cluster_, {settings(), {"webhook-foreign.yaml"}}) {}

  ~AdmissionTest() override {
    kubectl({"delete", "deployments,statefulsets,jobs", "--all", "--cascade=foreground",
             "--wait=false"});
  }

  static std::vector<std::string> settings() {
    return {"admission.scheduler_name=tangram", "foreign.nvidia=true", "foreign.hami=true",
            "foreign.gpushare=true", "foreign.kai=true"};
  }

  rapidjson::Document pod(const std::string& name) {
    return parse_json(cluster_.get(Cluster::pod_path(name)));
  }

  static std::string limit(const rapidjson::Value& pod, rapidjson::SizeType container,
                           const char* resource) {
    const auto& made = pod["spec"]["containers"][container];
    if (!made.HasMember("resources") || !made["resources"].HasMember("limits")) return "";
    return text_of(made["resources"]["limits"], resource);
  }

  void expect_granted(int pods) {
    EXPECT_TRUE(watcher_.wait_bound(pods, 60s)) << count_bound(watcher_.pods()) << " bound";
    const Verdict verdict = check_cluster(*api_);
    EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
    EXPECT_EQ(verdict.granted, pods);
  }

  Webhook webhook_;
  Process scheduler_ = webhook_.scheduler();
  PodWatcher watcher_{*api_};
};

TEST_F(AdmissionTest, AnAnnotationAloneIsEnough) {
  cluster_.add_nodes({gpu_node("node")});
  const auto applied =
      kubectl({"apply", "-f", "-"}, annotated("half", "tangram.dev/gpu-fraction: \"0.5\""));
  ASSERT_TRUE(applied.done()) << applied.text;
  const auto half = pod("half");
  EXPECT_EQ(limit(half, 0, kSlot), "1");
  EXPECT_EQ(limit(half, 0, "tangram.dev/gpu-milli"), "500");
  EXPECT_EQ(text_of(half["spec"], "schedulerName"), "tangram");
  expect_granted(1);
  expect_books_right(webhook_.extender());
}

TEST_F(AdmissionTest, AggregatesFollowTheAnnotationsWhateverStoodThere) {
  const auto shown = kubectl(
      {"create", "--dry-run=server", "-o", "yaml", "-f", "-"},
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: differs\n  annotations: "
      "{tangram.dev/gpu-fraction: \"0.5\"}\nspec: {containers: [{name: main, image: i, resources: "
      "{limits: {tangram.dev/gpu-milli: 100}}}]}\n");
  EXPECT_TRUE(shown.done()) << shown.text;
  EXPECT_THAT(shown.text, HasSubstr("tangram.dev/gpu-milli: \"500\""));
  EXPECT_THAT(shown.text, Not(HasSubstr("\"100\"")));
}

TEST_F(AdmissionTest, RefusesWrongPodsAndSaysWhatToWrite) {
  int refused = 0;
  for (const WrongPod& wrong : wrong_pods()) {
    SCOPED_TRACE(wrong.name);
    const auto answer = kubectl({"apply", "-f", "-"}, wrong.manifest);
    std::cout << "--- " << wrong.name << "\n" << answer.text << std::flush;
    EXPECT_FALSE(answer.done()) << "created";
    EXPECT_THAT(answer.text, HasSubstr("denied the request")) << "refused by somebody else";
    for (const auto& said : wrong.says) EXPECT_THAT(answer.text, HasSubstr(said));
    if (!wrong.says_not.empty()) {
      EXPECT_THAT(answer.text, Not(HasSubstr(wrong.says_not)));
    }
    if (!answer.done()) ++refused;
  }
  EXPECT_GE(refused, 30);
  Figures("admission_wrong_pods")
      .add("pods", static_cast<int>(wrong_pods().size()))
      .add("refused", refused);
}

TEST_F(AdmissionTest, PeersManifestsRunUnchanged) {
  cluster_.add_nodes({gpu_node("peers", 16), gpu_node("more", 8)});
  int warnings = 0;
  for (const char* peer : {"hami", "nvidia", "gpushare", "kai"}) {
    const auto file = std::string(TANGRAM_SOURCE_DIR "/tests/e2e/peers/") + peer + ".yaml";
    const auto answer = kubectl({"apply", "-f", file});
    std::cout << "--- " << peer << "\n" << answer.text << std::flush;
    EXPECT_TRUE(answer.done()) << answer.text;
    if (answer.text.find("Warning: ") != std::string::npos) ++warnings;
  }
  EXPECT_GE(warnings, 3);
  constexpr int kPods = 2 + 7 + 4 + 4;
  expect_granted(kPods);
  const auto type = annotations_of(pod("hami-type"));
  EXPECT_EQ(type.at("gpu-model"), "*A100*,*V100*,!*1080*,!*2080*,!* MIG *");
  EXPECT_EQ(type.at("gpu-policy"), "binpack");
  EXPECT_THAT(annotations_of(pod("hami-uuid")).at("gpu-grant"), HasSubstr("GPU-peers-7"));
  EXPECT_EQ(annotations_of(pod("gpushare-several")).at("gpu-mem"), "2048Mi");
  EXPECT_EQ(annotations_of(pod("kai-several")).at("gpu-container"), "worker");
  EXPECT_EQ(limit(pod("hami-memory"), 0, "nvidia.com/gpumem"), "");
  EXPECT_EQ(limit(pod("hami-memory"), 0, "nvidia.com/gpu"), "");
  EXPECT_EQ(limit(pod("kai-several"), 0, kSlot), "");
  EXPECT_EQ(limit(pod("kai-several"), 1, kSlot), "1");
  expect_books_right(webhook_.extender());
}

TEST_F(AdmissionTest, ADryRunShowsWhatWouldBeAndLeavesNothing) {
  const auto shown = kubectl({"create", "--dry-run=server", "-o", "yaml", "-f", "-"},
                             annotated("dry", "tangram.dev/gpu-mem: 8Gi"));
  EXPECT_TRUE(shown.done()) << shown.text;
  EXPECT_THAT(shown.text, HasSubstr(kSlot));
  EXPECT_THAT(shown.text, HasSubstr("tangram.dev/gpu-mem-mib: \"8192\""));
  EXPECT_FALSE(kubectl({"get", "pod", "dry"}).done());
  const auto refused = kubectl({"create", "--dry-run=server", "-f", "-"},
                               annotated("dry", "tangram.dev/gpu-mem: \"8\""));
  EXPECT_THAT(refused.text, HasSubstr("write 8Gi"));
}

TEST_F(AdmissionTest, WithTheWebhookDownPlainPodsStartAndOthersAreRefusedClearly) {
  webhook_.extender().kill();
  const std::string plain =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: plain}\nspec: {containers: [{name: main, image: "
      "i}]}\n";
  const auto created = kubectl({"apply", "-f", "-"}, plain);
  EXPECT_TRUE(created.done()) << created.text;
  const std::map<std::string, std::string> others = {
      {"annotated", annotated("annotated", "tangram.dev/gpu-fraction: \"0.5\"")},
      {"slot",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: slot}\nspec: {containers: [{name: main, image: "
       "i, resources: {limits: {tangram.dev/gpu-slot: 1}}}]}\n"},
      {"nvidia",
       "apiVersion: v1\nkind: Pod\nmetadata: {name: nvidia}\nspec: {containers: [{name: main, "
       "image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}\n"},
      {"kai", annotated("kai", "gpu-fraction: \"0.5\"")}};
  for (const auto& [name, manifest] : others) {
    const auto refused = kubectl({"apply", "-f", "-"}, manifest);
    std::cout << "--- " << name << "\n" << refused.text << std::flush;
    EXPECT_FALSE(refused.done()) << name << " was created without the webhook";
    EXPECT_THAT(refused.text, HasSubstr("failed calling webhook"));
    EXPECT_THAT(refused.text, HasSubstr("tangram.dev"));
  }
  webhook_.extender().start_ready();
  const auto again = kubectl({"apply", "-f", "-"}, others.at("annotated"));
  EXPECT_TRUE(again.done()) << again.text;
}

TEST_F(AdmissionTest, NeighboursOfOptedInNamespacesSeeNoCards) {
  kubectl({"create", "namespace", "opted-in"});
  kubectl({"label", "--overwrite", "namespace", "opted-in", "tangram.dev/admission=enabled"});
  const std::string plain =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: NS}\nspec: "
      "{serviceAccountName: "
      "default, automountServiceAccountToken: false, containers: [{name: main, image: i}]}\n";
  const auto made = [&](const std::string& name, const std::string& ns) {
    std::string text = plain;
    text.replace(text.find("NAME"), 4, name).replace(text.find("NS"), 2, ns);
    return kubectl({"create", "--dry-run=server", "-o", "yaml", "-f", "-"}, text).text;
  };
  // A controller creates the service account of a new namespace a moment later.
  std::string inside;
  const auto deadline = TimePoint::clock::now() + 20s;
  do {
    inside = made("plain", "opted-in");
  } while (inside.find("void") == std::string::npos && TimePoint::clock::now() < deadline);
  EXPECT_THAT(inside, HasSubstr("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_THAT(inside, HasSubstr("void"));
  EXPECT_THAT(made("plain", "default"), Not(HasSubstr("NVIDIA_VISIBLE_DEVICES")));
  kubectl({"delete", "namespace", "opted-in", "--wait=false"});
}

TEST_F(AdmissionTest, AnInjectedContainerTakesNothingFromTheOneThatAsked) {
  cluster_.add_nodes({gpu_node("node")});
  Injector injector(cluster_);
  const std::map<std::string, std::string> manifests = {
      {"ours", annotated("ours", "tangram.dev/gpu-fraction: \"0.5\"")},
      {"kais", annotated("kais", "gpu-fraction: \"0.25\"")}};
  for (const auto& [name, manifest] : manifests) {
    const auto applied = kubectl({"apply", "-f", "-"}, manifest);
    ASSERT_TRUE(applied.done()) << applied.text;
    const auto made = pod(name);
    ASSERT_EQ(text_of(made["spec"]["containers"][0], "name"), "injected");
    EXPECT_EQ(annotations_of(made).at("gpu-container"), "main");
    EXPECT_EQ(limit(made, 0, kSlot), "");
    EXPECT_EQ(limit(made, 1, kSlot), "1");
  }
  EXPECT_GE(injector.calls(), 2);
  expect_granted(2);
  // Tangram was called again after the injector, so the added container sees no card.
  // The other one sees none either until it has its device.
  const auto made = pod("ours");
  for (const rapidjson::SizeType container : {0U, 1U}) {
    const auto& reached = made["spec"]["containers"][container];
    ASSERT_TRUE(reached.HasMember("env"));
    ASSERT_EQ(reached["env"].Size(), 1U);
    EXPECT_EQ(text_of(reached["env"][0], "name"), "NVIDIA_VISIBLE_DEVICES");
    EXPECT_EQ(text_of(reached["env"][0], "value"), "void");
  }
}

TEST_F(AdmissionTest, NamespacesOfTheSystemAreLeftAlone) {
  const auto answer =
      kubectl({"create", "--dry-run=server", "--namespace", "kube-system", "-f", "-"},
              annotated("wrong", "tangram.dev/gpu-fraction: \"2\""));
  EXPECT_TRUE(answer.done()) << answer.text;
}

}  // namespace
}  // namespace tangram::e2e
