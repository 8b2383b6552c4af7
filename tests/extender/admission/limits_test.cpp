// Pods that are refused because of their size, whatever is in them.

#include "extender/admission/limits.hpp"

#include "base/json_members.hpp"
#include "extender/admission/mutate.hpp"
#include "extender/admission/translation_reading.hpp"
#include "model/request.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::Verdict;
using testing::Webhook;

/// `count` times `text`, in which each # becomes another number, with commas between.
std::string repeated(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string one = text;
    one.replace(one.find('#'), 1, std::to_string(i));
    all += (i == 0 ? "" : ",") + one;
  }
  return all;
}

std::string pod_of(const std::string& annotations, const std::string& containers) {
  return R"({"metadata":{"name":"p","annotations":{)" + annotations +
         R"(}},"spec":{"containers":[)" + containers + "]}}";
}

std::string with_devices(std::size_t entries, const std::string& annotations) {
  std::string env = repeated(entries, R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"v#"})");
  return pod_of(annotations, R"({"name":"main","env":[)" + env + "]}");
}

void expect_both_refuse(const std::string& pod, const std::string& why) {
  for (const Verdict& verdict :
       {Webhook().mutate({.object = pod}), Webhook().validate({.object = pod})}) {
    EXPECT_EQ(verdict.message, "pod p: " + why);
    EXPECT_EQ(verdict.reason, "BadRequest");
    EXPECT_EQ(verdict.patch, "");
  }
}

TEST(LimitsTest, BothWebhooksRefuseTooManyContainers) {
  expect_both_refuse(pod_of("", repeated(kMaxContainers + 3, R"({"name":"c#"})")),
                     "the pod has 1003 containers; write at most 1000");
}

TEST(LimitsTest, BothWebhooksRefuseTooManyRequests) {
  const std::string annotations =
      repeated(kMaxRequestAnnotations + 1, R"("tangram.dev/gpu-mem.c#":"1Gi")");
  expect_both_refuse(pod_of(annotations, R"({"name":"main"})"),
                     "the pod has 201 annotations tangram.dev/gpu-...; write at most 200");
}

TEST(LimitsTest, BothWebhooksRefuseTooManyAnnotations) {
  const std::string one = R"("a#":"")";
  expect_both_refuse(pod_of(repeated(kMaxAnnotations + 1, one), R"({"name":"main"})"),
                     "the pod has 1001 annotations; write at most 1000");
  EXPECT_EQ(Webhook().refusal(pod_of(repeated(kMaxAnnotations, one), R"({"name":"main"})")), "");
}

TEST(LimitsTest, BothWebhooksRefuseTooManyResources) {
  const auto pod = [](std::size_t limits) {
    return pod_of("", R"({"name":"main","resources":{"limits":{)" +
                          repeated(limits, R"("a/#":"1")") + R"(},"requests":{"cpu":"1"}}})");
  };
  expect_both_refuse(pod(kMaxResources),
                     "the pod has 5001 entries in limits and requests; write at most 5000");
  EXPECT_EQ(Webhook().refusal(pod(kMaxResources - 1)), "");
}

TEST(LimitsTest, BothWebhooksRefuseANameOfAResourceThatNoServerStores) {
  const auto pod = [](std::size_t length) {
    const std::string name = "nvidia.com/mig-1g.10gb." + std::string(length - 23, 'a');
    return pod_of("", R"({"name":"main","resources":{"limits":{")" + name + R"(":"1"}}})");
  };
  for (const auto& verdict : {Webhook().mutate({.object = pod(kMaxResourceName + 1)}),
                              Webhook().validate({.object = pod(kMaxResourceName + 1)})}) {
    EXPECT_THAT(verdict.message,
                ::testing::StartsWith("pod p: container \"main\" has a resource "));
    EXPECT_THAT(verdict.message, ::testing::EndsWith(" of 318 characters; write at most 317"));
    EXPECT_LT(verdict.message.size(), 1000U);
  }
  EXPECT_EQ(Webhook().refusal(pod(kMaxResourceName)), "");
}

/// Each name of a list and the name of a MIG resource together make a glob.
TEST(LimitsTest, ListsOfHamiHaveAsManyNamesAsAListOfGlobs) {
  auto settings = testing::shipped_settings();
  settings.other_systems = {.nvidia = true, .hami = true};
  const auto refusal = [&](std::size_t names) {
    std::string list = "A";
    for (std::size_t i = 1; i < names; ++i) list += ",A";
    return Webhook(settings).refusal(
        pod_of(R"("nvidia.com/use-gputype":")" + list + '"',
               R"({"name":"main","resources":{"limits":{"nvidia.com/mig-1g.10gb":"1"}}})"));
  };
  EXPECT_EQ(refusal(model::kMaxGlobs), "");
  EXPECT_THAT(refusal(model::kMaxGlobs + 1),
              ::testing::EndsWith(" has 33 names; write at most 32"));
}

TEST(LimitsTest, ResourcesOfAllContainersCount) {
  const std::string list = "{" + repeated(kMaxResources / 2 + 1, R"("r#":"1")") + "}";
  const std::string containers = R"({"name":"a","resources":{"limits":)" + list + "}}," +
                                 R"({"name":"b","resources":{"requests":)" + list + "}}," +
                                 R"({"name":"c","resources":{"limits":{"cpu":"1"}}})";
  expect_both_refuse(pod_of("", containers),
                     "the pod has 5003 entries in limits and requests; write at most 5000");
}

TEST(LimitsTest, BothWebhooksRefuseTooManyBytesOfAnnotations) {
  const std::string half(kMaxAnnotationBytes / 2, 'x');
  const auto pod = [&](const std::string& last) {
    return pod_of(R"("a":")" + half + R"(","c":")" + last + R"(","d":"")", R"({"name":"main"})");
  };
  expect_both_refuse(pod(half), "the pod has 262147 bytes of annotations; write at most 262144");
  EXPECT_EQ(Webhook().refusal(pod(half.substr(3))), "");
}

TEST(LimitsTest, AnOldPodWithMoreAnnotationsMayStillChange) {
  const std::string before = pod_of(repeated(kMaxAnnotations + 1, R"("a#":"")"), R"({"name":"m"})");
  std::string now = before;
  now.replace(now.find(R"("a0":"")"), 7, R"("a0":"b")");
  const Verdict verdict = Webhook().validate(
      {.operation = "UPDATE", .subresource = "status", .object = now, .old_object = before});
  EXPECT_EQ(verdict.message, "");
}

/// As many as fit into a stored object, and Tangram's after all others.
TEST(LimitsTest, AGrantIsProtectedWhateverTheNumberOfAnnotations) {
  const std::string others = repeated(40'000, R"("a#":"")");
  const auto granted = [&](const std::string& grant) {
    return pod_of(others + R"(,"tangram.dev/gpu-grant":")" + grant + '"', R"({"name":"m"})");
  };
  const auto change = [](const std::string& now, const std::string& before) {
    return Webhook().validate({.operation = "UPDATE", .object = now, .old_object = before});
  };
  EXPECT_EQ(change(granted("b"), granted("a")).reason, "Forbidden");
  EXPECT_EQ(change(pod_of(others, ""), granted("a")).reason, "Forbidden");
  EXPECT_TRUE(change(granted("a"), granted("a")).allowed);
}

TEST(LimitsTest, AnUpdateIsRefusedWhereNotAllAnnotationsAreKnown) {
  const std::string few = pod_of("", R"({"name":"main"})");
  const std::string many =
      pod_of(repeated(kMaxKnownAnnotations + 1, R"("a#":"")"), R"({"name":"main"})");
  const std::string large =
      pod_of(R"("a":")" + std::string(kMaxAnnotationBytes, 'x') + '"', R"({"name":"main"})");
  const auto refusal = [](const std::string& now, const std::string& before) {
    return Webhook().validate({.operation = "UPDATE", .object = now, .old_object = before}).message;
  };
  const std::string too_many = "pod p: the pod has 90001 annotations; write at most 1000";
  const std::string too_large =
      "pod p: the pod has 262145 bytes of annotations; write at most 262144";
  EXPECT_EQ(refusal(few, many), too_many);
  EXPECT_EQ(refusal(many, few), too_many);
  EXPECT_EQ(refusal(few, large), too_large);
  EXPECT_EQ(refusal(large, few), too_large);
  EXPECT_EQ(refusal(few, few), "");
}

TEST(LimitsTest, ABindingHasAsManyAnnotationsAsAPod) {
  const auto binding = [](std::size_t annotations) {
    return Webhook().validate({.subresource = "binding",
                               .object = R"({"metadata":{"annotations":{)" +
                                         repeated(annotations, R"("a#":"")") + "}}}"});
  };
  EXPECT_TRUE(binding(kMaxAnnotations).allowed);
  EXPECT_NE(binding(kMaxAnnotations + 1)
                .message.find("metadata.annotations: 1001 entries; write at most 1000"),
            std::string::npos);
}

TEST(LimitsTest, WhatTangramDoesNotReadIsNoReasonToRefuse) {
  constexpr std::size_t kMany = 50'000;
  const std::string pod = R"({"metadata":{"name":"p","labels":{)" + repeated(kMany, R"("l#":"")") +
                          R"(}},"spec":{"nodeSelector":{)" + repeated(kMany, R"("s#":"")") +
                          R"(},"containers":[{"name":"main","env":[)" +
                          repeated(kMany, R"({"name":"v#"})") + "]}]}}";
  EXPECT_EQ(Webhook().validate({.object = pod}).message, "");
  EXPECT_TRUE(Webhook().mutate({.object = pod}).allowed);
}

TEST(LimitsTest, BothWebhooksRefuseAVariableThatIsRepeatedTooOften) {
  expect_both_refuse(with_devices(kMaxVisibleDevices + 1, R"("tangram.dev/gpu-fraction":"0.5")"),
                     R"(container "main" sets NVIDIA_VISIBLE_DEVICES 9 times; write it once)");
}

AdmissionSettings settings_with_everything() {
  AdmissionSettings settings = testing::shipped_settings();
  settings.node_selector = true;
  settings.runtime_class = "nvidia";
  settings.other_systems = {.nvidia = true, .hami = true, .gpushare = true, .kai = true};
  return settings;
}

TEST(LimitsTest, APatchKeepsWhatIsNotRead) {
  const std::string pod = testing::json_of(R"(
metadata: {name: p, labels: {app: a}, annotations: {other: "1"}}
spec:
  nodeSelector: {zone: a}
  containers:
  - name: main
    resources: {limits: {nvidia.com/gpu: 1}}
    env: [{name: A, value: "1"}, {name: NVIDIA_VISIBLE_DEVICES, value: all}, {name: B, value: "2"}]
)");
  const std::string mutated = Webhook(settings_with_everything()).mutated(pod);
  EXPECT_EQ(testing::at(mutated, "metadata.labels.app"), "a");
  EXPECT_EQ(testing::at(mutated, "metadata.annotations.other"), "1");
  EXPECT_EQ(testing::at(mutated, "metadata.annotations.tangram:dev|gpu-count"), "1");
  EXPECT_EQ(testing::at(mutated, "spec.nodeSelector.zone"), "a");
  EXPECT_EQ(testing::at(mutated, "spec.nodeSelector.tangram:dev|gpu"), "true");
  EXPECT_EQ(testing::at(mutated, "spec.containers.0.env.0.name"), "A");
  EXPECT_EQ(testing::at(mutated, "spec.containers.0.env.1.name"), "B");
  EXPECT_EQ(testing::at(mutated, "spec.containers.0.env.2.value"), "void");
}

struct DecisionRow {
  const char* name;
  const char* pod;
};

class ScopeDecisionTest : public ::testing::TestWithParam<DecisionRow> {};

/// The decision and the patch do not depend on what is left out of the pod.
TEST_P(ScopeDecisionTest, IsThatOfTheWholePod) {
  const auto read = [](std::string text, const kube::ManifestScope& scope) {
    json::Reader in(text, json::Outline{.members = kube::manifest_outline(scope)});
    kube::PodManifest pod = kube::read_manifest(in, scope);
    EXPECT_TRUE(in.finish().has_value());
    return pod;
  };
  const std::string text = testing::json_of(GetParam().pod);
  const AdmissionSettings settings = settings_with_everything();
  const AdmissionResponse whole = mutate(read(text, {}), settings);
  const AdmissionResponse kept = mutate(read(text, admission_scope()), settings);
  EXPECT_NE(whole.patch, "");
  EXPECT_EQ(kept.patch, whole.patch);
  EXPECT_EQ(kept.refusal, whole.refusal);
  EXPECT_EQ(kept.warnings, whole.warnings);
}

INSTANTIATE_TEST_SUITE_P(All, ScopeDecisionTest,
                         ::testing::Values(DecisionRow{.name = "MuchThatIsNotRead", .pod = R"(
metadata:
  name: p
  labels: {app: a, kai.scheduler/queue: q, aliyun.com/gpu-count: "2"}
  annotations: {other: "1", gpu-fraction: "0.5", kubernetes.io/limit-ranger: "x"}
spec:
  nodeSelector: {zone: a, disk: ssd}
  containers:
  - name: main
    env: [{name: A, value: "1"}, {name: NVIDIA_VISIBLE_DEVICES, value: all}, {name: B, value: "2"},
          {name: NVIDIA_VISIBLE_DEVICES, value: none}, {name: C}]
  - {name: side, env: [{name: A, value: "1"}]}
)"},
                                           DecisionRow{.name = "Gpushare", .pod = R"(
metadata: {name: p, labels: {app: a, aliyun.com/gpu-count: "2"}}
spec: {containers: [{name: main, resources: {limits: {aliyun.com/gpu-mem: "8"}}}]}
)"},
                                           DecisionRow{.name = "NothingElse", .pod = R"(
metadata: {name: p, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {containers: [{name: main}]}
)"},
                                           DecisionRow{.name = "Empty", .pod = R"(
metadata: {name: p, labels: {}, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {nodeSelector: {}, containers: [{name: main, env: []}]}
)"},
                                           DecisionRow{.name = "HasTheSelector", .pod = R"(
metadata: {name: p, annotations: {tangram.dev/gpu-fraction: "0.5"}}
spec: {nodeSelector: {zone: a, tangram.dev/gpu: "true"}, containers: [{name: main}]}
)"}),
                         [](const auto& row) { return row.param.name; });

TEST(LimitsTest, AContainerMayRepeatTheVariableEightTimes) {
  const std::string refusal = Webhook().refusal(with_devices(kMaxVisibleDevices, ""));
  EXPECT_EQ(refusal.find("8 times"), std::string::npos) << refusal;
}

TEST(LimitsTest, DebuggingContainersArePartOfThePod) {
  const std::string before = pod_of("", R"({"name":"main"})");
  const std::string now =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"main"}],"ephemeralContainers":[)" +
      repeated(kMaxContainers, R"({"name":"d#"})") + "]}}";
  const auto asking = [&] {
    return testing::Asking{.operation = "UPDATE",
                           .subresource = "ephemeralcontainers",
                           .object = now,
                           .old_object = before};
  };
  const std::string why = "pod p: the pod has 1001 containers; write at most 1000";
  EXPECT_EQ(Webhook().mutate(asking()).message, why);
  EXPECT_EQ(Webhook().validate(asking()).message, why);
}

TEST(LimitsTest, MistakesOfATranslationAreCountedBeyondTwenty) {
  const OtherSystems systems{.gpushare = true};
  kube::PodManifest pod;
  for (std::size_t i = 0; i < 900; ++i) {
    kube::ContainerManifest& container = pod.containers.emplace_back();
    container.name = "c" + std::to_string(i);
    container.limits = {{"aliyun.com/gpu-mem", "many"}};
  }
  const Translation made = translate(pod, systems);
  EXPECT_EQ(made.mistakes.size(), kMaxNotes);
  EXPECT_EQ(made.more_mistakes, 900 - kMaxNotes);
}

}  // namespace
}  // namespace tangram::extender
