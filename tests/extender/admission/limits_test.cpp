// Pods that are refused because of their size, whatever is in them.

#include "extender/admission/limits.hpp"

#include "extender/admission/translation_reading.hpp"
#include "tests/extender/admission/reviews.hpp"

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

TEST(LimitsTest, AnOldPodWithMoreAnnotationsMayStillChange) {
  const std::string before = pod_of(repeated(kMaxAnnotations + 1, R"("a#":"")"), R"({"name":"m"})");
  std::string now = before;
  now.replace(now.find(R"("a0":"")"), 7, R"("a0":"b")");
  const Verdict verdict = Webhook().validate(
      {.operation = "UPDATE", .subresource = "status", .object = now, .old_object = before});
  EXPECT_EQ(verdict.message, "");
}

TEST(LimitsTest, BothWebhooksRefuseAVariableThatIsRepeatedTooOften) {
  expect_both_refuse(with_devices(kMaxVisibleDevices + 1, R"("tangram.dev/gpu-fraction":"0.5")"),
                     R"(container "main" sets NVIDIA_VISIBLE_DEVICES 9 times; write it once)");
}

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
