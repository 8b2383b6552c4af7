// What may change on a pod that exists, and who may bind it.

#include "model/grant.hpp"
#include "tests/extender/admission/reviews.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {
namespace {

using testing::Asking;
using testing::json_of;
using testing::Verdict;
using testing::Webhook;

constexpr const char* kExtender = "system:serviceaccount:tangram-system:tangram-extender";

/// An admitted pod with more annotations, bound to a node unless that is empty.
std::string pod_with(const std::string& annotations, const std::string& node = "") {
  return json_of("metadata: {name: a, uid: uid-a, annotations: {" + annotations + "}}\nspec: {" +
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

/// A grant of a share of a card to the pod of pod_with().
model::Grant grant_of(int revision, std::int64_t memory = 4096) {
  const Mebibytes amount(memory);
  return {.pod_uid = "uid-a",
          .node = "gpu-1",
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
}
std::string text_of(const model::Grant& grant) {
  return "tangram.dev/gpu-grant: '" + model::encode(grant) + "'";
}
std::string grant_text(int revision, std::int64_t memory = 4096) {
  return text_of(grant_of(revision, memory));
}
/// Forged for the same pod and node.
std::string with_time(int revision, const std::string& issued_at) {
  model::Grant grant = grant_of(revision);
  grant.issued_at = issued_at;
  return text_of(grant);
}
std::string with_card(int revision, const std::string& card) {
  model::Grant grant = grant_of(revision);
  grant.containers[0].cards[0].uuid = card;
  return text_of(grant);
}
std::string for_pod(const std::string& uid, const std::string& node, int revision = 1) {
  model::Grant grant = grant_of(revision);
  grant.pod_uid = uid;
  grant.node = node;
  return text_of(grant);
}
std::string for_container(const std::string& name) {
  model::Grant grant = grant_of(1);
  grant.containers[0].container = name;
  return text_of(grant);
}
/// As a signed one, by this key; see signatures().
std::string signed_by(const std::string& key, model::Grant grant) {
  grant.signature = key;
  return text_of(grant);
}

/// The pod, bound unless the node is "", with this grant, or with none if it is "".
std::string with_grant(const std::string& grant, const std::string& node = "gpu-1") {
  return pod_with(kHalf + (grant.empty() ? "" : ", " + grant), node);
}

struct GrantChange {
  std::string from;
  std::string to;
  const char* says = "";  ///< "" = it is allowed
};
void expect_by_extender(const std::vector<GrantChange>& rows, const AdmissionSettings& settings) {
  for (const GrantChange& row : rows) {
    const Verdict verdict = Webhook(settings).validate(
        {.operation = "UPDATE", .user = kExtender, .object = row.to, .old_object = row.from});
    const bool allowed = *row.says == '\0';
    EXPECT_EQ(verdict.allowed, allowed) << row.from << "\n" << row.to << "\n" << verdict.message;
    EXPECT_NE(verdict.message.find(row.says), std::string::npos) << verdict.message;
    EXPECT_EQ(verdict.code, allowed ? 0 : 403);
  }
}

TEST(ChangeTest, TheExtenderReplacesAGrantByARevisionOfIt) {
  const auto& pod = with_grant;
  const std::string first = pod(grant_text(0, 8192), "gpu-1");
  expect_by_extender(
      {{first, pod(grant_text(1), "gpu-1")},
       {pod(grant_text(1), "gpu-1"), pod(grant_text(2, 8192), "gpu-1")},
       {first, pod("", "gpu-1"), "may only revise the grant of a bound pod"},
       {pod(grant_text(0), ""), pod(grant_text(1), ""), "of a bound pod"},
       {pod(grant_text(1, 8192), "gpu-1"), pod(grant_text(1), "gpu-1"), "is no later revision"},
       {pod(grant_text(2, 8192), "gpu-1"), pod(grant_text(1), "gpu-1"), "is no later revision"},
       {first, pod(for_pod("uid-a", "gpu-2"), "gpu-1"), "of another pod or node"},
       {first, pod("tangram.dev/gpu-grant: forged", "gpu-1"), "grant: "},
       {first, pod(grant_text(0, 8192) + ", x: y", "gpu-1"), "change nothing else"},
       {first, pod(grant_text(1) + ", x: y", "gpu-1"), "change nothing else"},
       {first, pod_with(kQuarter + ", " + grant_text(1), "gpu-1"), "change nothing else"},
       {first, pod(grant_text(1), "gpu-2"), "change nothing else"}},
      testing::shipped_settings());
}

/// What somebody may have made of the pod's grant while nothing kept them from it.
const std::vector<std::string> kDamaged{"", "tangram.dev/gpu-grant: old",
                                        "tangram.dev/gpu-grant: ''", for_pod("uid-b", "gpu-1", 9),
                                        for_pod("uid-a", "gpu-2", 9)};

TEST(ChangeTest, TheExtenderRepairsAGrantThatIsNoEarlierOne) {
  for (const std::string& damaged : kDamaged) {
    const std::string from = with_grant(damaged);
    expect_by_extender({{from, with_grant(grant_text(4))},
                        {from, with_grant(grant_text(0)), "revision"},
                        {from, with_grant(""), "only revise"},
                        {from, with_grant(for_pod("uid-b", "gpu-1", 4)), "of another pod or node"},
                        {from, with_grant(for_pod("uid-a", "gpu-2", 4)), "of another pod or node"},
                        {from, with_grant("tangram.dev/gpu-grant: worse"), "grant: "},
                        {from, with_grant(grant_text(4) + ", x: y"), "change nothing else"},
                        {from, with_grant(grant_text(4), "gpu-2"), "change nothing else"}},
                       testing::shipped_settings());
  }
}

/// Without keys, this may be a genuine one.
TEST(ChangeTest, NoRepairReplacesAGrantOfThisPodAndNode) {
  const std::string genuine = with_grant(grant_text(5, 1024));
  expect_by_extender(
      {{genuine, with_grant(with_time(6, "2020-01-01T00:00:00Z")), "is no later revision"},
       {genuine, with_grant(with_card(6, "GPU-b")), "is no later revision"},
       {genuine, with_grant(grant_text(4, 8192)), "is no later revision"},
       {genuine, with_grant(grant_text(5, 8192)), "is no later revision"},
       {genuine, with_grant(grant_text(6, 8192))}},
      testing::shipped_settings());
}

TEST(ChangeTest, ARepairIsOfABoundPodsContainersWithASlot) {
  const auto without_slot = [](std::string pod) {
    const std::string_view slot = "tangram.dev/gpu-slot";
    for (auto at = pod.find(slot); at != std::string::npos; at = pod.find(slot)) {
      pod.replace(at, slot.size(), "example.com/other");
    }
    return pod;
  };
  expect_by_extender(
      {{with_grant(""), with_grant(for_container("other")), "containers with a slot"},
       {without_slot(with_grant("")), without_slot(with_grant(grant_text(1))),
        "containers with a slot"},
       {without_slot(with_grant(grant_text(0))), without_slot(with_grant(grant_text(1))),
        "containers with a slot"},
       {with_grant("", ""), with_grant(grant_text(1), ""), "of a bound pod"}},
      testing::shipped_settings());
}

/// A key's signature is its name.
model::SignatureVerdict signature_in(std::string_view text) {
  for (const std::string_view key : {"key-1", "key-2"}) {
    if (text.find("\"sig\":\"" + std::string(key)) != std::string_view::npos) {
      return {.key = std::string(key), .problem = {}};
    }
  }
  return {.key = std::string(model::kUnsigned), .problem = {}};
}

TEST(ChangeTest, WhatAKnownKeySignedIsOnlyRevisedAndBySuchAKey) {
  AdmissionSettings settings = testing::shipped_settings();
  settings.check = signature_in;
  model::Grant other = grant_of(4);
  other.issued_at = "2020-01-01T00:00:00Z";
  const std::string genuine = with_grant(signed_by("key-1", grant_of(3)));
  const std::string forged = with_grant(signed_by("forged", grant_of(3)));
  expect_by_extender({{genuine, with_grant(signed_by("key-1", grant_of(4)))},
                      {genuine, with_grant(signed_by("key-2", grant_of(4)))},
                      {genuine, with_grant(grant_text(4)), "not signed by a known key"},
                      {genuine, with_grant(signed_by("forged", grant_of(4))), "not signed by"},
                      {genuine, with_grant(signed_by("key-1", other)), "is no later revision of"},
                      {forged, with_grant(signed_by("key-1", other))},
                      {forged, with_grant(signed_by("key-1", grant_of(3)))},
                      {forged, with_grant(signed_by("forged", other)), "not signed by a known key"},
                      {with_grant(""), with_grant(grant_text(1)), "not signed by a known key"},
                      {with_grant(""), with_grant(signed_by("key-1", grant_of(1)))}},
                     settings);
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
