#include "node/pods/local_pod.hpp"

#include "tests/node/pods/pod_texts.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using testing::pod_json;
using testing::PodText;

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

/// A container with a slot.
std::string container(const std::string& name, const std::string& rest) {
  return R"({"name":")" + name + R"(","resources":{"limits":{"tangram.dev/gpu-slot":"1"}},)" +
         rest + "}";
}
std::string variable(const std::string& name, const std::string& rest) {
  return R"("env":[{"name":")" + name + R"(",)" + rest + "}]";
}
LocalPod decoded_with(const std::string& init, const std::string& containers) {
  return decoded(R"({"metadata":{"uid":"u","namespace":"ml","name":"p"},"spec":{"nodeName":"n1",)"
                 R"("initContainers":[)" +
                 init + R"(],"containers":[)" + containers + "]}}");
}

TEST(LocalPodTest, KnowsWhoChoosesDevicesHimself) {
  const auto local =
      decoded_with(container("i", variable("NVIDIA_VISIBLE_DEVICES", R"("value":"all")")),
                   container("plain", variable("A", R"("value":"NVIDIA_VISIBLE_DEVICES")")) + "," +
                       container("map", R"("envFrom":[{"configMapRef":{"name":"m"}}])") + "," +
                       container("empty", R"("envFrom":[])"));
  EXPECT_EQ(local.choose_devices, (std::set<std::string, std::less<>>{"i", "map"}));
}

TEST(LocalPodTest, KnowsWhoNamesARuntimeClass) {
  EXPECT_FALSE(decoded(pod_json(pod("a"))).names_runtime_class);
  EXPECT_TRUE(decoded(R"({"metadata":{"uid":"u","namespace":"ml","name":"p"},)"
                      R"("spec":{"nodeName":"n1","runtimeClassName":"nvidia"}})")
                  .names_runtime_class);
}

TEST(LocalPodTest, KnowsWhoHidesTheDevices) {
  const auto by_variable = [](const std::string& name, const std::string& rest) {
    return container(name, variable("NVIDIA_VISIBLE_DEVICES", rest));
  };
  const auto local = decoded_with("", by_variable("hides", R"("value":"void")") + "," +
                                          container("other", variable("A", R"("value":"void")")) +
                                          "," + by_variable("field", R"("valueFrom":{})") + "," +
                                          by_variable("all", R"("value":"all")"));
  EXPECT_EQ(local.hide_devices, (std::set<std::string, std::less<>>{"hides"}));
  EXPECT_EQ(local.choose_devices, (std::set<std::string, std::less<>>{"all", "field", "hides"}));
}

TEST(LocalPodTest, KeepsOfContainersThoseWithASlot) {
  const auto local =
      decoded_with(R"({"name":"setup"},)" + container("i", R"("args":[])"),
                   container("a", R"("args":[])") +
                       R"(,{"name":"b","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]})");
  std::vector<std::string> names;
  for (const model::ContainerInfo& info : local.pod.containers) names.push_back(info.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "i"}));
  EXPECT_TRUE(local.pod.containers.back().ordinary_init);
  EXPECT_TRUE(local.choose_devices.empty());
  EXPECT_TRUE(local.hide_devices.empty());
}

TEST(LocalPodTest, KeepsNoContainersOfAPodWithMoreThanAGrantCanName) {
  EXPECT_EQ(decoded(init_slots_json("a", 16)).pod.containers.size(), 16U);
  const auto local = decoded(init_slots_json("b", 17));
  EXPECT_TRUE(local.pod.containers.empty());
  EXPECT_FALSE(local.grant);
  EXPECT_EQ(local.grant_problem,
            "does not count, because 17 containers of the pod have a slot; at most 16 can have "
            "one");
  EXPECT_EQ(local.pod.uid, "uid-b") << "the pod is known";
  EXPECT_EQ(local.requests.milli, MilliGpu(500));
}

TEST(LocalPodTest, KeepsNoTextThatGrantsNothing) {
  const auto local = decoded(long_text_json("a", 100'000));
  EXPECT_EQ(local.grant_text.capacity(), std::string().capacity());
  EXPECT_TRUE(local.grant_problem.ends_with("(its text has 100000 bytes)")) << local.grant_problem;
  PodText named = pod("b");
  named.annotations["tangram.dev/gpu-grant"] = "{\"" + std::string(100'000, 'x') + "\":}";
  EXPECT_LT(decoded(pod_json(named)).grant_problem.size(), 1'000U);
  EXPECT_EQ(decoded(pod_json(pod("c"))).grant_text, grant_for("uid-c"));
}

TEST(LocalPodTest, AnOutlineSaysWhoThePodIs) {
  const auto whole = decoded(long_grant_json("a", 10'000));
  ASSERT_TRUE(whole.grant);
  const LocalPod outline = outline_of(whole);
  EXPECT_EQ(outline.pod.uid, "uid-a");
  EXPECT_EQ(outline.pod.full_name(), "ml/a");
  EXPECT_EQ(outline.pod.node, "n1");
  EXPECT_EQ(outline.requests, whole.requests);
  EXPECT_TRUE(outline.left_out);
  EXPECT_FALSE(outline.grant);
  EXPECT_LT(weight_of(outline) + 10'000, weight_of(whole));
  EXPECT_EQ(weight_of(outline_of(outline)), weight_of(outline));
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

}  // namespace
}  // namespace tangram::node
