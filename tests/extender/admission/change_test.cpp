// What may change on a pod that exists, and who may bind it.

#include "model/grant.hpp"
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
    }
    EXPECT_TRUE(change(granted, granted, subresource).allowed);
  }
}

/// A grant of half of a card of 16 GiB.
std::string grant_text(int revision, std::int64_t memory, const std::string& node = "gpu-1") {
  const Mebibytes amount(memory);
  model::Grant grant{.pod_uid = "uid-a",
                     .node = node,
                     .issued_at = "2026-01-01T00:00:00Z",
                     .revision = revision,
                     .isolation = model::Isolation::kTimeSlice,
                     .containers = {{"main",
                                     {{.uuid = "GPU-a",
                                       .memory = amount,
                                       .compute = MilliGpu(500),
                                       .memory_limit = amount,
                                       .compute_limit = MilliGpu(500),
                                       .whole = false}}}},
                     .signature = {}};
  return "tangram.dev/gpu-grant: '" + model::encode(grant) + "'";
}

TEST(ChangeTest, TheExtenderReplacesAGrantByARevisionOfIt) {
  const auto pod = [](const std::string& grant, const std::string& node = "gpu-1") {
    return pod_with(kHalf + (grant.empty() ? "" : ", " + grant), node);
  };
  const auto by_extender = [](const std::string& from, const std::string& to) {
    return change(from, to, "", kExtender);
  };
  EXPECT_EQ(by_extender(pod(grant_text(0, 8192)), pod(grant_text(1, 4096))).message, "");
  EXPECT_EQ(by_extender(pod(grant_text(1, 4096)), pod(grant_text(2, 8192))).message, "");
  const struct {
    std::string from;
    std::string to;
    const char* says;
  } rows[] = {
      {pod(""), pod(grant_text(0, 8192)), "may only revise the grant of a bound pod"},
      {pod(grant_text(0, 8192)), pod(""), "may only revise the grant of a bound pod"},
      {pod(grant_text(0, 8192), ""), pod(grant_text(1, 4096), ""), "of a bound pod"},
      {pod(grant_text(1, 8192)), pod(grant_text(1, 4096)), "is no later revision"},
      {pod(grant_text(2, 8192)), pod(grant_text(1, 4096)), "is no later revision"},
      {pod(grant_text(0, 8192)), pod(grant_text(1, 4096, "gpu-2")), "is no later revision"},
      {pod(grant_text(0, 8192)), pod("tangram.dev/gpu-grant: forged"), "grant: "},
      {pod("tangram.dev/gpu-grant: old"), pod(grant_text(1, 4096)), "the one that is replaced: "},
      {pod(grant_text(0, 8192)), pod(grant_text(0, 8192) + ", x: y"), "change nothing else"},
      {pod(grant_text(0, 8192)), pod(grant_text(1, 4096) + ", x: y"), "change nothing else"},
      {pod(grant_text(0, 8192)), pod_with(kQuarter + ", " + grant_text(1, 4096), "gpu-1"),
       "change nothing else"},
      {pod(grant_text(0, 8192)), pod(grant_text(1, 4096), "gpu-2"), "change nothing else"}};
  for (const auto& row : rows) {
    const Verdict verdict = by_extender(row.from, row.to);
    EXPECT_FALSE(verdict.allowed) << row.says;
    EXPECT_EQ(verdict.code, 403);
    EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
  }
}

// ---- Resizes.

/// Bound, with a grant.
std::string granted(const std::string& annotations) {
  return pod_with(annotations + ", " + kGrant, "gpu-1");
}

TEST(ChangeTest, OnlyTheAmountsOfABoundPodCanChange) {
  const std::string half = granted(kHalf);
  for (const char* other :
       {"tangram.dev/gpu-model: T4", "tangram.dev/gpu-policy: binpack",
        "tangram.dev/gpu-count: \"1\"", "tangram.dev/gpu-count.main: \"1\"",
        "tangram.dev/gpu-isolation: none", "tangram.dev/gpu-container: main",
        "tangram.dev/gpu-uuid: x", "tangram.dev/gpu-memory-limits: mps", "tangram.dev/gpu-mm: x"}) {
    for (const std::string& share : {kHalf, kQuarter}) {
      const Verdict verdict = change(half, granted(share + ", " + other));
      EXPECT_FALSE(verdict.allowed) << other;
      EXPECT_EQ(verdict.code, 403);
      EXPECT_NE(verdict.message.find(
                    "only tangram.dev/gpu-fraction, tangram.dev/gpu-mem, tangram.dev/gpu-compute, "
                    "tangram.dev/gpu-mem-limit and tangram.dev/gpu-compute-limit can change"),
                std::string::npos)
          << verdict.message;
    }
  }
  const std::string message = change(half, granted("tangram.dev/gpu-model: T4")).message;
  EXPECT_NE(message.find(R"(tangram.dev/gpu-model from nothing to "T4")"), std::string::npos);
  EXPECT_NE(message.find("here to node gpu-1"), std::string::npos);
  EXPECT_EQ(message.find("gpu-fraction from"), std::string::npos) << message;
  EXPECT_TRUE(change(half, granted(kHalf + ", x: y, tangram.dev/note: z")).allowed);
}

TEST(ChangeTest, ABoundPodMayAskForOtherAmounts) {
  const std::string half = granted(kHalf);
  for (const char* other :
       {R"(tangram.dev/gpu-fraction: "0.25")", R"(tangram.dev/gpu-fraction: "0.75")",
        "tangram.dev/gpu-mem: 8Gi", R"(tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: "0.1")",
        R"(tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem-limit: 12Gi)",
        R"(tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-compute-limit: "1")",
        R"(tangram.dev/gpu-fraction.main: "0.25")"}) {
    EXPECT_TRUE(change(half, granted(other)).allowed) << change(half, granted(other)).message;
    EXPECT_TRUE(change(granted(other), half).allowed) << "and back";
  }
}

TEST(ChangeTest, APodThatWasAllowedMoreBurstMayAskForWhatIsAllowedNow) {
  AdmissionSettings settings = testing::shipped_settings();
  settings.requests.max_burst = 2;
  const auto to = [&](const std::string& limit) {
    return Webhook(settings)
        .validate({.operation = "UPDATE",
                   .object = granted(R"(tangram.dev/gpu-fraction: "0.25", )"
                                     "tangram.dev/gpu-compute-limit: " +
                                     limit),
                   .old_object = granted(R"(tangram.dev/gpu-fraction: "0.25", )"
                                         R"(tangram.dev/gpu-compute-limit: "1")")})
        .message;
  };
  EXPECT_EQ(to(R"("0.5")"), "");
  EXPECT_NE(to(R"("0.75")").find("more than 2 times the request"), std::string::npos);
}

TEST(ChangeTest, AResizeMustBeAValidRequestForTheSameCards) {
  const std::string half = granted(kHalf);
  const struct {
    std::string annotations;
    const char* says;
  } rows[] = {
      {"x: y", "no annotation says how much GPU"},
      {R"(tangram.dev/gpu-fraction: "50%")", "is not a decimal number"},
      {R"(tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-compute-limit: "0.1")", "gpu-compute"},
      {R"(tangram.dev/gpu-fraction: "0.25", tangram.dev/gpufraction: "1")", "no such annotation"},
      {R"(tangram.dev/gpu-fraction: "1")", "has shares, and those cannot become whole cards"},
      {R"(tangram.dev/gpu-fraction: "0.5", tangram.dev/gpu-mem.side: 1Gi)",
       R"(cannot change once the pod is bound, here from "main" to "side", "main")"}};
  for (const auto& row : rows) {
    const auto with_side = [](std::string pod) {
      const std::string end = R"("name":"main")";
      return pod.insert(pod.find("{" + end), R"({"name":"side"},)");
    };
    const std::string main = ", tangram.dev/gpu-container: main";
    const Verdict verdict =
        change(with_side(granted(kHalf + main)), with_side(granted(row.annotations + main)));
    EXPECT_FALSE(verdict.allowed) << row.says;
    EXPECT_EQ(verdict.code, 400);
    EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
  }
  const Verdict whole = change(granted(R"(tangram.dev/gpu-fraction: "1")"), half);
  EXPECT_NE(whole.message.find("has whole cards, and those cannot become shares"),
            std::string::npos);
  const Verdict wrong = change(granted(R"(tangram.dev/gpu-fraction: "50%")"), half);
  EXPECT_NE(wrong.message.find("the request that the pod has now cannot be read"),
            std::string::npos);
}

TEST(ChangeTest, AResizeIsOfThePodItselfAndOfItsGrant) {
  const Verdict bare = change(pod_with(kHalf, "gpu-1"), pod_with(kQuarter, "gpu-1"));
  EXPECT_FALSE(bare.allowed);
  EXPECT_EQ(bare.code, 403);
  EXPECT_NE(bare.message.find(R"(tangram.dev/gpu-fraction from "0.5" to "0.25": the pod was bound )"
                              "without a grant"),
            std::string::npos)
      << bare.message;
  for (const char* part : {"status", "ephemeralcontainers", "resize"}) {
    const Verdict verdict = change(granted(kHalf), granted(kQuarter), part);
    EXPECT_FALSE(verdict.allowed) << part;
    EXPECT_EQ(verdict.code, 403);
  }
}

TEST(ChangeTest, AQuotaBoundsGrowthByWhatThePodHolds) {
  const auto resize = [](const std::string& to, std::string_view counted) {
    return Webhook().validate(
        {.operation = "UPDATE", .object = granted(to), .old_object = granted(kQuarter)},
        {.counted = {counted}});
  };
  // The container holds 500 of tangram.dev/gpu-milli.
  for (const char* within :
       {R"(tangram.dev/gpu-fraction: "0.1")", R"(tangram.dev/gpu-fraction: "0.5")",
        R"(tangram.dev/gpu-mem: 8Gi, tangram.dev/gpu-compute: "0.5")"}) {
    EXPECT_EQ(resize(within, model::kMilliResource).message, "") << within;
  }
  const struct {
    const char* annotations;
    const char* says;
  } rows[] = {
      {R"(tangram.dev/gpu-fraction: "0.501")",
       "requests 501 of tangram.dev/gpu-milli, and the quota of this namespace counts 500 for it"},
      {"tangram.dev/gpu-mem: 1Gi", "does not count in tangram.dev/gpu-milli"},
      {R"(tangram.dev/gpu-fraction: "0.25", tangram.dev/gpu-compute-limit: "0.5")",
       "above the request does not count"}};
  for (const auto& row : rows) {
    const Verdict verdict = resize(row.annotations, model::kMilliResource);
    EXPECT_FALSE(verdict.allowed) << row.annotations;
    EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
  }
  EXPECT_NE(resize("tangram.dev/gpu-mem: 1Gi", model::kMemoryResource)
                .message.find("requests 1024 of tangram.dev/gpu-mem-mib, and the quota of this "
                              "namespace counts 0 for it"),
            std::string::npos);
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
