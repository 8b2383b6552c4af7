// Aggregates that a LimitRange wrote into containers before the webhook saw them.

#include "extender/admission/limit_range.hpp"

#include "extender/admission/limits.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::at;
using testing::json_of;
using testing::Webhook;

const std::string kHeld =
    "resources: {limits: {tangram.dev/gpu-milli: 500}, requests: {tangram.dev/gpu-milli: 500}}";

/// A pod of two containers, to which a LimitRange with a maximum of 500 gave that.
std::string limited_pod(const std::string& annotations, const std::string& said) {
  return json_of("metadata: {name: a, annotations: {kubernetes.io/limit-ranger: \"" + said + "\"" +
                 (annotations.empty() ? "" : ", ") + annotations +
                 "}}\n"
                 "spec: {containers: [{name: main, " +
                 kHeld + "}, {name: side, " + kHeld + "}]}");
}

constexpr const char* kSaid =
    "LimitRanger plugin set: cpu, tangram.dev/gpu-milli request for container main; "
    "cpu, tangram.dev/gpu-milli limit for container main; "
    "tangram.dev/gpu-milli request for container side; "
    "tangram.dev/gpu-milli limit for container side";

std::string milli_of(const std::string& pod, int container, const char* list = "limits") {
  return at(pod, "spec.containers." + std::to_string(container) + ".resources." + list +
                     ".tangram:dev|gpu-milli");
}

TEST(LimitRangeTest, GivesWayToWhatTheRequestCounts) {
  for (const auto& [fraction, milli] :
       {std::pair{"0.25", "250"}, std::pair{"0.5", "500"}, std::pair{"0.75", "750"}}) {
    const std::string pod = Webhook().mutated(
        limited_pod(std::string("tangram.dev/gpu-fraction: \"") + fraction + "\"", kSaid));
    for (const char* list : {"limits", "requests"}) EXPECT_EQ(milli_of(pod, 0, list), milli);
    EXPECT_EQ(Webhook().refusal(pod), "");
    EXPECT_EQ(Webhook().mutate({.object = pod}).patch, "");
  }
}

TEST(LimitRangeTest, TakesOutWhatTheRequestDoesNotCountIn) {
  const std::string pod = Webhook().mutated(limited_pod("tangram.dev/gpu-mem: 8Gi", kSaid));
  EXPECT_EQ(at(pod, "spec.containers.0.resources.limits"),
            R"({"tangram.dev/gpu-mem-mib":"8192","tangram.dev/gpu-slot":"1"})");
  EXPECT_EQ(Webhook().refusal(pod), "");
}

TEST(LimitRangeTest, GivesContainersWithoutARequestNothing) {
  for (const char* annotations : {"", "tangram.dev/gpu-fraction: \"0.5\""}) {
    const std::string pod = Webhook().mutated(limited_pod(annotations, kSaid));
    // Not taken out: a LimitRange with a maximum insists on some number.
    for (const char* list : {"limits", "requests"}) EXPECT_EQ(milli_of(pod, 1, list), "0");
    EXPECT_EQ(Webhook().refusal(pod), "");
    EXPECT_EQ(Webhook().mutate({.object = pod}).patch, "");
  }
}

TEST(LimitRangeGiftsTest, AreThoseOfAllContainers) {
  kube::PodManifest pod;
  pod.annotations["kubernetes.io/limit-ranger"] =
      "LimitRanger plugin set: cpu, tangram.dev/gpu-milli request for container main; "
      "tangram.dev/gpu-mem-mib limit for init container setup; memory limit for container side";
  const LimitRangeGifts gifts(pod);
  EXPECT_TRUE(gifts.gave("main", "tangram.dev/gpu-milli"));
  EXPECT_TRUE(gifts.gave("setup", "tangram.dev/gpu-mem-mib"));
  EXPECT_FALSE(gifts.gave("main", "tangram.dev/gpu-mem-mib"));
  EXPECT_FALSE(gifts.gave("setup", "tangram.dev/gpu-milli"));
  EXPECT_FALSE(gifts.gave("side", "tangram.dev/gpu-milli"));
}

TEST(LimitRangeTest, BothWebhooksRefuseAnnotationsThatKubernetesWould) {
  const std::string said(kMaxAnnotationBytes, ';');
  const std::string pod = limited_pod("", said);
  const std::string name = "kubernetes.io/limit-ranger";
  const std::string refusal = "pod a: the pod has " + std::to_string(said.size() + name.size()) +
                              " bytes of annotations; write at most 262144";
  EXPECT_EQ(Webhook().mutate({.object = pod}).message, refusal);
  EXPECT_EQ(Webhook().validate({.object = pod}).message, refusal);
}

TEST(LimitRangeTest, OfAnotherContainerOrResourceExplainsNothing) {
  for (const char* said : {
           "",
           "tangram.dev/gpu-milli limit for container side",
           "LimitRanger plugin set: tangram.dev/gpu-milli limit for container main",
           "LimitRanger plugin set: tangram.dev/gpu-milli limit for container inside",
           "LimitRanger plugin set: cpu, memory limit for container side",
           "LimitRanger plugin set: tangram.dev/gpu-mem-mib limit for container side",
           "LimitRanger plugin set: tangram.dev/gpu-milli",
           "LimitRanger plugin set: ; for side; ",
       }) {
    const std::string refusal =
        Webhook().refusal(limited_pod("tangram.dev/gpu-fraction: \"0.5\"", said));
    EXPECT_NE(refusal.find(R"(container "side": tangram.dev/gpu-milli "500" without a request)"),
              std::string::npos)
        << said << ": " << refusal;
  }
}

}  // namespace
}  // namespace tangram::extender
