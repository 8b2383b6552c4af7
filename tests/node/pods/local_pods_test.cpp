#include "node/pods/local_pods.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using testing::pod_json;
using testing::PodText;

std::string grant_for(const std::string& uid, const std::string& node = "n1") {
  return encode(model::Grant{.pod_uid = uid,
                             .node = node,
                             .issued_at = "2026-01-01T00:00:00Z",
                             .isolation = model::Isolation::kMps,
                             .containers = {{"main",
                                             {{.uuid = "GPU-1",
                                               .memory = Mebibytes(1),
                                               .compute = MilliGpu(1),
                                               .memory_limit = Mebibytes(1),
                                               .compute_limit = MilliGpu(1)}}}},
                             .signature = {}});
}

PodText pod(const std::string& name, const std::string& phase = "Running") {
  return {.name = name,
          .uid = "uid-" + name,
          .node = "n1",
          .phase = phase,
          .annotations = {{"tangram.dev/gpu-grant", grant_for("uid-" + name)}},
          .requests = {{"tangram.dev/gpu-milli", "500"}, {"tangram.dev/gpu-mem-mib", "1Ki"}}};
}

PodRules rules() {
  return {.node = "n1",
          .device_variable = "NVIDIA_VISIBLE_DEVICES",
          .no_card = "void",
          .check = model::signatures_not_checked()};
}

LocalPod decoded(const std::string& json) {
  auto local = decode_local_pod(json, rules());
  EXPECT_TRUE(local);
  return local ? std::move(*local) : LocalPod{};
}

TEST(LocalPodTest, AGrantMustBeThePodsOwnAndForThisNode) {
  EXPECT_TRUE(decoded(pod_json(pod("a"))).grant);
  PodText copied = pod("b");
  copied.annotations["tangram.dev/gpu-grant"] = grant_for("uid-a");
  EXPECT_FALSE(decoded(pod_json(copied)).grant);
  EXPECT_EQ(decoded(pod_json(copied)).grant_problem, "was issued to another pod, of UID \"uid-a\"");
  PodText elsewhere = pod("c");
  elsewhere.annotations["tangram.dev/gpu-grant"] = grant_for("uid-c", "n2");
  EXPECT_EQ(decoded(pod_json(elsewhere)).grant_problem, "was issued for another node, \"n2\"");
  PodText none = pod("d");
  none.annotations.clear();
  EXPECT_EQ(decoded(pod_json(none)).grant_problem, "");
  EXPECT_FALSE(decoded(pod_json(none)).grant);
}

TEST(LocalPodTest, KnowsWhoChoosesDevicesHimself) {
  const auto local = decoded(
      R"({"metadata":{"uid":"u","namespace":"ml","name":"p"},"spec":{"nodeName":"n1",)"
      R"("initContainers":[{"name":"i","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}],)"
      R"("containers":[{"name":"plain","env":[{"name":"A","value":"NVIDIA_VISIBLE_DEVICES"}]},)"
      R"({"name":"map","envFrom":[{"configMapRef":{"name":"m"}}]},{"name":"empty","envFrom":[]}]}})");
  EXPECT_EQ(local.choose_devices, (std::set<std::string, std::less<>>{"i", "map"}));
}

TEST(LocalPodTest, KnowsWhoHidesTheDevices) {
  const auto local = decoded(
      R"({"metadata":{"uid":"u","namespace":"ml","name":"p"},"spec":{"nodeName":"n1","containers":[)"
      R"({"name":"hides","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]},)"
      R"({"name":"other","env":[{"name":"A","value":"void"}]},)"
      R"({"name":"field","env":[{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{}}]},)"
      R"({"name":"all","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}]}})");
  EXPECT_EQ(local.hide_devices, (std::set<std::string, std::less<>>{"hides"}));
  EXPECT_EQ(local.choose_devices, (std::set<std::string, std::less<>>{"all", "field", "hides"}));
}

constexpr const char* kHash = "0123456789abcdef0123456789abcdef";
constexpr const char* kByNode =
    R"("ownerReferences":[{"kind":"Node","name":"n1","controller":true}],)";

/// A pod that says that it mirrors the static pod with this UID.
std::string mirror_json(const std::string& uid, const std::string& metadata) {
  PodText mirror = pod("mirror");
  mirror.annotations = {{"kubernetes.io/config.mirror", uid}};
  std::string text = pod_json(mirror);
  const std::string begin = R"("metadata":{)";
  return text.insert(text.find(begin) + begin.size(), metadata);
}

TEST(LocalPodTest, KnowsTheUidOfAStaticPod) {
  EXPECT_EQ(decoded(mirror_json(kHash, kByNode)).kubelet_uid, kHash);
  EXPECT_EQ(decoded(pod_json(pod("a"))).kubelet_uid, "");
}

TEST(LocalPodTest, AnAnnotationAloneMakesNoMirror) {
  const std::string of_a_pod = "11111111-2222-3333-4444-555555555555";
  EXPECT_EQ(decoded(mirror_json(of_a_pod, kByNode)).kubelet_uid, "") << "has dashes";
  EXPECT_EQ(decoded(mirror_json(std::string(kHash) + "0", kByNode)).kubelet_uid, "");
  for (const char* metadata :
       {"", R"("ownerReferences":[{"kind":"Node","name":"n1"}],)",
        R"("ownerReferences":[{"kind":"Node","name":"n2","controller":true}],)",
        R"("ownerReferences":[{"kind":"ReplicaSet","name":"n1","controller":true}],)"}) {
    EXPECT_EQ(decoded(mirror_json(kHash, metadata)).kubelet_uid, "") << metadata;
  }
  const std::string deleted = R"("deletionTimestamp":"2026-01-01T00:00:00Z",)";
  EXPECT_EQ(decoded(mirror_json(kHash, kByNode + deleted)).kubelet_uid, "")
      << "a finalizer would keep it for ever";
}

class LocalPodsTest : public ::testing::Test {
 protected:
  testing::ManualClock clock;
  kube::LocalApi api{clock};
  int changes = 0;
  LocalPods pods{api, rules(), [this] { ++changes; }};
};

TEST_F(LocalPodsTest, KnowsThePodsOfAListAndWhatChangedSince) {
  EXPECT_FALSE(pods.synced());
  EXPECT_FALSE(pods.requested());
  pods.replace({pod_json(pod("a")), pod_json(pod("done", "Succeeded")), "no pod"});
  EXPECT_TRUE(pods.synced());
  EXPECT_TRUE(pods.find("uid-a"));
  EXPECT_FALSE(pods.find(""));
  EXPECT_FALSE(pods.find("uid-done"));
  pods.change(kube::EventType::kAdded, pod_json(pod("b")));
  EXPECT_EQ(pods.requested()->milli, MilliGpu(1000));
  EXPECT_EQ(pods.requested()->memory, Mebibytes(2048));
  pods.change(kube::EventType::kModified, pod_json(pod("a", "Failed")));
  pods.change(kube::EventType::kDeleted, pod_json(pod("b")));
  EXPECT_TRUE(pods.all().empty());
  EXPECT_EQ(changes, 4);
  pods.replace({});
  EXPECT_EQ(pods.requested(), CardRequests{});
}

TEST_F(LocalPodsTest, NoPodKeepsAnotherThatIsGone) {
  pods.replace({mirror_json("uid-dead", kByNode)});
  EXPECT_FALSE(pods.find("uid-dead"));
  pods.replace({mirror_json(kHash, kByNode)});
  EXPECT_TRUE(pods.find(kHash));
}

TEST_F(LocalPodsTest, AsksTheApiServerForOneOfItsOwn) {
  kube::Request create{.method = kube::Method::kPost,
                       .path = "/api/v1/namespaces/ml/pods",
                       .query = {},
                       .body = pod_json({.name = "other", .node = "n2"})};
  ASSERT_EQ(api.call(create)->status, 201);
  EXPECT_EQ(pods.fetch("ml", "other").error().code, Errc::kNotFound);
  EXPECT_EQ(pods.fetch("ml", "never").error().code, Errc::kNotFound);
  create.body = pod_json({.name = "here", .node = "n1"});
  ASSERT_EQ(api.call(create)->status, 201);
  const auto here = pods.fetch("ml", "here");
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ((*here)->pod.name, "here");
}

}  // namespace
}  // namespace tangram::node
