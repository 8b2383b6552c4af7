// What may change on a pod that exists, and who may bind it.

#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::Asking;
using testing::json_of;
using testing::Verdict;
using testing::Webhook;

constexpr const char* kExtender = "system:serviceaccount:tangram-system:tangram-extender";

/// An admitted pod with more annotations, bound to a node unless that is empty.
std::string pod_with(const std::string& annotations, const std::string& node = "") {
  return json_of("metadata: {name: a, annotations: {" + annotations + "}}\nspec: {" +
                 (node.empty() ? "" : "nodeName: " + node + ", ") +
                 "containers: [{name: main, resources: "
                 "{limits: {tangram.dev/gpu-slot: 1, tangram.dev/gpu-milli: 500}, "
                 "requests: {tangram.dev/gpu-slot: 1, tangram.dev/gpu-milli: 500}}}]}");
}

const std::string kHalf = R"(tangram.dev/gpu-fraction: "0.5")";
const std::string kQuarter = R"(tangram.dev/gpu-fraction: "0.25")";
const std::string kGrant = "tangram.dev/gpu-grant: mine";

Verdict change(const std::string& from, const std::string& to, const std::string& subresource = "",
               const std::string& user = "jane") {
  return Webhook().validate({.operation = "UPDATE",
                             .subresource = subresource,
                             .user = user,
                             .object = to,
                             .old_object = from});
}

TEST(ChangeTest, NobodyElseSetsChangesOrRemovesAGrant) {
  const std::string bare = pod_with(kHalf, "gpu-1");
  const std::string granted = pod_with(kHalf + ", " + kGrant, "gpu-1");
  const std::string forged = pod_with(kHalf + ", tangram.dev/gpu-grant: forged", "gpu-1");
  const struct {
    const std::string& from;
    const std::string& to;
    const char* says;
  } rows[] = {{bare, forged, "is written by Tangram when it places the pod; remove it"},
              {granted, forged, "cannot be changed: it is Tangram's record"},
              {granted, bare, "cannot be removed: it is Tangram's record"}};
  for (const char* subresource : {"", "status", "ephemeralcontainers", "resize"}) {
    for (const auto& row : rows) {
      const Verdict verdict = change(row.from, row.to, subresource);
      EXPECT_FALSE(verdict.allowed) << subresource;
      EXPECT_EQ(verdict.code, 403);
      EXPECT_EQ(verdict.message.rfind("pod a: tangram.dev/gpu-grant: ", 0), 0U) << verdict.message;
      EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
      EXPECT_TRUE(change(row.from, row.to, subresource, kExtender).allowed);
    }
    EXPECT_TRUE(change(granted, granted, subresource).allowed);
  }
}

TEST(ChangeTest, ARequestIsFixedOnceThePodIsBound) {
  const std::string half = pod_with(kHalf, "gpu-1");
  for (const std::string& other :
       {kQuarter, std::string("x: y"), kHalf + ", tangram.dev/gpu-model: T4"}) {
    for (const char* user : {"jane", kExtender}) {
      const Verdict verdict = change(half, pod_with(other, "gpu-1"), "status", user);
      EXPECT_FALSE(verdict.allowed) << other;
      EXPECT_EQ(verdict.code, 403);
      EXPECT_NE(verdict.message.find("node gpu-1; delete it and create it with the new request"),
                std::string::npos)
          << verdict.message;
    }
  }
  EXPECT_NE(change(half, pod_with(kQuarter, "gpu-1"))
                .message.find(R"(tangram.dev/gpu-fraction from "0.5" to "0.25")"),
            std::string::npos);
  EXPECT_NE(change(half, pod_with("x: y", "gpu-1"))
                .message.find(R"(tangram.dev/gpu-fraction from "0.5" to nothing)"),
            std::string::npos);
  EXPECT_TRUE(change(half, pod_with(kHalf + ", x: y, tangram.dev/note: z", "gpu-1")).allowed);
}

TEST(ChangeTest, ARequestThatChangesBeforeThePodIsBoundMustBeRight) {
  const std::string half = pod_with(kHalf);
  EXPECT_TRUE(change(half, pod_with(kHalf + ", tangram.dev/gpu-model: T4")).allowed);
  const struct {
    std::string annotations;
    const char* says;
  } rows[] = {{R"(tangram.dev/gpu-fraction: "50%")", "is not a decimal number"},
              // The aggregates of its container cannot follow.
              {kQuarter, R"(is not what the annotations request, "250")"},
              {"tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: \"0.5\"",
               "holds no tangram.dev/gpu-mem-mib"},
              {"x: y", "no annotation says how much GPU"}};
  for (const auto& row : rows) {
    const Verdict verdict = change(half, pod_with(row.annotations));
    EXPECT_FALSE(verdict.allowed);
    EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
    EXPECT_NE(verdict.message.find("delete it and create it with another request"),
              std::string::npos);
  }
}

TEST(ChangeTest, WithoutAggregatesTheSlotIsEnough) {
  auto settings = testing::shipped_settings();
  settings.aggregates = false;
  const auto pod = [](const std::string& fraction) {
    return json_of("metadata: {name: a, annotations: {tangram.dev/gpu-fraction: \"" + fraction +
                   "\"}}\nspec: {containers: [{name: main, resources: {limits: "
                   "{tangram.dev/gpu-slot: 1}}}]}");
  };
  const Asking asking{.operation = "UPDATE", .object = pod("0.25"), .old_object = pod("0.5")};
  EXPECT_TRUE(Webhook(settings).validate(asking).allowed);
  EXPECT_NE(Webhook().validate(asking).message.find("holds no tangram.dev/gpu-milli"),
            std::string::npos);
}

TEST(ChangeTest, ARequestCannotBeAddedToAPodWithoutASlot) {
  const std::string plain = json_of("metadata: {name: a}\nspec: {containers: [{name: main}]}");
  const std::string annotated = json_of("metadata: {name: a, annotations: {" + kHalf +
                                        "}}\nspec: {containers: [{name: main}]}");
  const Verdict verdict = change(plain, annotated);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_NE(verdict.message.find("holds no tangram.dev/gpu-slot"), std::string::npos);
}

TEST(ChangeTest, AWrongPodFromBeforeTheWebhookCanChangeOtherwise) {
  const std::string wrong = R"(tangram.dev/gpu-fraction: "50%")";
  for (const char* node : {"", "gpu-1"}) {
    EXPECT_TRUE(change(pod_with(wrong, node), pod_with(wrong + ", x: y", node)).allowed);
    EXPECT_TRUE(change(pod_with(wrong, node), pod_with(wrong + ", x: y", node), "status").allowed);
  }
}

TEST(ChangeTest, ANewEphemeralContainerDoesNotShowItselfCards) {
  const auto pod = [](const std::string& ephemerals) {
    return json_of(
        "metadata: {name: a}\nspec: {containers: [{name: main}], ephemeralContainers: [" +
        ephemerals + "]}");
  };
  const std::string all = "{name: debug, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}";
  const Verdict verdict = change(pod(""), pod(all), "ephemeralcontainers");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_NE(verdict.message.find(R"(container "debug": the variable)"), std::string::npos);
  EXPECT_NE(verdict.message.find("remove it, since containers for debugging cannot have a card"),
            std::string::npos);
  EXPECT_TRUE(change(pod(all), pod(all + ", {name: other}"), "ephemeralcontainers").allowed)
      << "what was there cannot change any more";
}

TEST(ChangeTest, OnlyTheExtenderBindsWithTangramsAnnotations) {
  const auto bind = [](const std::string& annotations, const std::string& user,
                       bool old_form = false) {
    return Webhook().validate(
        {.resource = old_form ? "bindings" : "pods",
         .subresource = old_form ? "" : "binding",
         .user = user,
         .object = json_of("metadata: {name: train-0, annotations: {" + annotations + "}}")});
  };
  for (const bool old_form : {false, true}) {
    for (const char* annotation :
         {"tangram.dev/gpu-grant: x", R"(tangram.dev/gpu-fraction: "1")"}) {
      const Verdict verdict = bind(annotation, "system:kube-scheduler", old_form);
      EXPECT_FALSE(verdict.allowed);
      EXPECT_EQ(verdict.code, 403);
      EXPECT_EQ(verdict.message.rfind("pod train-0: tangram.dev/gpu-", 0), 0U) << verdict.message;
      EXPECT_TRUE(bind(annotation, kExtender, old_form).allowed);
    }
    EXPECT_TRUE(bind("x: y, tangram.dev/note: z", "system:kube-scheduler", old_form).allowed);
  }
}

}  // namespace
}  // namespace tangram::extender
