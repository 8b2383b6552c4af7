#include "extender/admission/review.hpp"

#include "tests/extender/admission/reviews.hpp"
#include "tests/testing/json_mutations.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::Asking;
using testing::json_of;
using testing::review_text;
using testing::verdict_in;
using Kind = kube::ContainerKind;
using Operation = AdmissionRequest::Operation;
using Subject = AdmissionRequest::Subject;

constexpr const char* kPod = R"(
metadata:
  generateName: train-
  annotations: {tangram.dev/gpu-fraction: "0.5", other: "1"}
  labels: {app: train, kai.scheduler/queue: train}
spec:
  schedulerName: default-scheduler
  runtimeClassName: nvidia
  nodeName: gpu-1
  nodeSelector: {zone: a}
  containers:
  - name: main
    resources:
      limits: {cpu: 2, tangram.dev/gpu-slot: "1"}
      requests: {cpu: 500m}
    env:
    - {name: MODE, value: fast}
    - {name: NVIDIA_VISIBLE_DEVICES, value: all}
    - {name: NVIDIA_VISIBLE_DEVICES, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - name: side
  initContainers:
  - {name: fetch, resources: {}}
  - {name: proxy, restartPolicy: Always}
  ephemeralContainers:
  - {name: debug, env: []}
)";

AdmissionRequest decoded(const Asking& asking) {
  auto request = decode_review(review_text(asking));
  if (!request) throw std::runtime_error(request.error().message);
  return std::move(*request);
}

std::string refusal_of(const std::string& text) {
  const auto request = decode_review(text);
  return request ? "" : request.error().message;
}

TEST(ReviewTest, ReadsANewPod) {
  const AdmissionRequest request = decoded({.name = "", .object = json_of(kPod)});
  EXPECT_EQ(request.uid, "7f0c");
  EXPECT_EQ(request.user, "jane");
  EXPECT_EQ(request.operation, Operation::kCreate);
  EXPECT_EQ(request.subject, Subject::kPod);
  EXPECT_FALSE(request.old_pod);
  ASSERT_TRUE(request.pod);
  const kube::PodManifest& pod = *request.pod;
  EXPECT_EQ(pod.ns, "ml");
  EXPECT_EQ(pod.name, "train-*");
  EXPECT_EQ(pod.annotations,
            (kube::StringMap{{"other", "1"}, {"tangram.dev/gpu-fraction", "0.5"}}));
  EXPECT_EQ(pod.labels, (kube::StringMap{{"kai.scheduler/queue", "train"}}));
  EXPECT_EQ(pod.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.runtime_class, "nvidia");
  EXPECT_EQ(pod.node, "gpu-1");
  EXPECT_EQ(pod.node_selector, kube::StringMap());
  EXPECT_TRUE(pod.has_node_selector);
}

TEST(ReviewTest, ReadsThePodsContainers) {
  const AdmissionRequest request = decoded({.object = json_of(kPod)});
  const auto& containers = request.pod.value().containers;
  ASSERT_EQ(containers.size(), 5U);
  const auto is = [&](std::size_t i, const char* name, Kind kind, std::size_t index) {
    return containers[i].name == name && containers[i].kind == kind && containers[i].index == index;
  };
  EXPECT_TRUE(is(0, "main", Kind::kApp, 0));
  EXPECT_TRUE(is(1, "side", Kind::kApp, 1));
  EXPECT_TRUE(is(2, "fetch", Kind::kInit, 0));
  EXPECT_TRUE(is(3, "proxy", Kind::kSidecar, 1));
  EXPECT_TRUE(is(4, "debug", Kind::kEphemeral, 0));
  EXPECT_EQ(containers[0].limits, (kube::StringMap{{"cpu", "2"}, {"tangram.dev/gpu-slot", "1"}}));
  EXPECT_EQ(containers[0].requests, (kube::StringMap{{"cpu", "500m"}}));
  const auto& env = containers[0].env;
  ASSERT_EQ(env.size(), 2U) << "MODE is not looked at";
  EXPECT_EQ(env[0].name, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(env[0].value, "all");
  EXPECT_EQ(env[0].index, 1U);
  EXPECT_EQ(env[1].name, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(env[1].value, std::nullopt);
  EXPECT_EQ(env[1].index, 2U);
  EXPECT_TRUE(containers[2].has_resources) << "an empty object is there";
  EXPECT_FALSE(containers[3].has_resources);
  EXPECT_TRUE(containers[4].env.empty()) << "an empty list is as good as none";
}

TEST(ReviewTest, TakesNullForWhatIsNotThere) {
  const AdmissionRequest request =
      decoded({.object = R"({"metadata":{"creationTimestamp":null,"annotations":null},"spec":{)"
                         R"("containers":[{"name":"main","env":null,"resources":null}],)"
                         R"("initContainers":null,"nodeSelector":null}})"});
  const kube::PodManifest& pod = request.pod.value();
  EXPECT_EQ(pod.name, "train-0") << "of the request";
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_FALSE(pod.containers[0].has_resources);
  EXPECT_TRUE(pod.containers[0].env.empty());
}

TEST(ReviewTest, RefusesNamesThatNoObjectHas) {
  const std::string pod = R"({"metadata":{"name":"p"},"spec":{}})";
  const std::string name(254, 'n');
  const auto refusal = [&](const Asking& asking) { return refusal_of(review_text(asking)); };
  EXPECT_EQ(refusal({.ns = name.substr(1), .name = name.substr(1), .object = pod}), "");
  EXPECT_NE(refusal({.ns = name, .object = pod}).find("request.namespace: longer than"),
            std::string::npos);
  EXPECT_NE(refusal({.name = name, .object = pod}).find("request.name: longer than"),
            std::string::npos);
  const std::string named = R"({"metadata":{"name":")" + name + R"(n"},"spec":{}})";
  EXPECT_NE(refusal({.object = named}).find("metadata.name: longer than"), std::string::npos);
}

TEST(ReviewTest, ReadsAChangedPodWithWhatItWas) {
  const std::string before = R"({"metadata":{"name":"a"},"spec":{"containers":[]}})";
  const std::string now = R"({"metadata":{"name":"a","annotations":{"x":"1"}},"spec":{}})";
  const struct {
    const char* subresource;
    Subject subject;
  } rows[] = {{"", Subject::kPod},
              {"status", Subject::kPodPart},
              {"resize", Subject::kPodPart},
              {"ephemeralcontainers", Subject::kEphemeralContainers}};
  for (const auto& row : rows) {
    const AdmissionRequest request = decoded({.operation = "UPDATE",
                                              .subresource = row.subresource,
                                              .object = now,
                                              .old_object = before});
    EXPECT_EQ(request.subject, row.subject);
    EXPECT_TRUE(request.pod.value().annotations.contains("x"));
    EXPECT_TRUE(request.old_pod.value().annotations.empty());
  }
}

TEST(ReviewTest, ReadsABindingInBothItsForms) {
  const std::string binding = R"({"metadata":{"annotations":{"tangram.dev/gpu-grant":"{}"}}})";
  for (const Asking& asking : {Asking{.subresource = "binding", .object = binding},
                               Asking{.resource = "bindings", .object = binding}}) {
    const AdmissionRequest request = decoded(asking);
    EXPECT_EQ(request.subject, Subject::kBinding);
    EXPECT_EQ(request.binding_annotations, (kube::StringMap{{"tangram.dev/gpu-grant", "{}"}}));
    EXPECT_EQ(request.binding_name, "train-0");
  }
}

TEST(ReviewTest, ShowsItsUidHoweverBadTheRestIs) {
  const std::string head = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",)";
  EXPECT_EQ(uid_of_review(review_text({})), "7f0c");
  EXPECT_EQ(uid_of_review(head + R"("request":{"uid":"7f0c","object":{[}}{)"), "7f0c");
  EXPECT_EQ(uid_of_review(R"({"request":{"object":{"uid":"x"},"uid":"y"},"kind":"AdmissionReview",)"
                          R"("apiVersion":"admission.k8s.io/v1"})"),
            "y");
  const std::string torn[] = {
      "",
      "{",
      head,
      head + R"("request":)",
      head + R"("request":{"uid":)",
      head + R"("request":{"uid":7}})",
      head + R"("request":{"uid":"a\u0062"}})",
      head + R"("request":{"uid":"a b"}})",
      head + R"("request":{"uid":")" + std::string(129, 'a') + "\"}}",
      R"({"kind":"Pod","request":{"uid":"7f0c"}})",
      (R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1",)"
       R"("request":{"uid":"7f0c"}})")};
  for (const std::string& text : torn) EXPECT_EQ(uid_of_review(text), "") << text;
}

TEST(ReviewTest, DoesNotReadTheObjectsOfOthers) {
  // A member of another form than a pod's would be an error if it were looked at.
  const std::string strange = R"({"metadata":7,"spec":{"containers":"none"}})";
  for (const Asking& asking : {Asking{.resource = "deployments", .object = strange},
                               Asking{.subresource = "exec", .object = strange},
                               Asking{.operation = "CONNECT", .object = strange},
                               Asking{.operation = "DELETE", .old_object = strange}}) {
    EXPECT_FALSE(decoded(asking).pod);
  }
  EXPECT_NE(refusal_of(review_text({.object = strange})), "");
}

TEST(ReviewTest, RefusesWhatIsNoReview) {
  const std::string pod = R"({"metadata":{},"spec":{}})";
  const std::string good = review_text({.object = pod});
  ASSERT_EQ(refusal_of(good), "");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const struct {
    std::string text;
    const char* says;
  } rows[] = {{"", ""},
              {"[]", ""},
              {"{}", "kind \"\" is no AdmissionReview"},
              {"no JSON", ""},
              {good.substr(0, good.size() - 1), ""},
              {changed("k8s.io/v1", "k8s.io/v1beta1"), "write admissionReviewVersions: [v1]"},
              {changed("AdmissionReview", "Pod"), "kind \"Pod\" is no AdmissionReview"},
              {changed("7f0c", ""), "request.uid: missing"},
              {changed("\"request\"", "\"response\""), "request: missing"},
              {changed("CREATE", "PATCH"), "request.operation \"PATCH\" is not known"},
              {review_text({}), "request.object: missing"},
              {review_text({.operation = "UPDATE", .object = pod}), "request.oldObject: missing"},
              {review_text({.object = R"({"spec":{}})"}), "metadata: missing"},
              {review_text({.object = R"({"metadata":{}})"}), "spec: missing"}};
  for (const auto& row : rows) {
    const std::string refusal = refusal_of(row.text);
    EXPECT_NE(refusal, "") << row.text;
    EXPECT_NE(refusal.find(row.says), std::string::npos) << refusal;
  }
}

TEST(ReviewTest, EveryMemberMayHaveTheWrongType) {
  const std::string good = review_text({.object = json_of(kPod)});
  for (const auto& place : testing::json_values(good)) {
    for (const char* wrong : {"7", "[]", "{}", "true", "\"x\"", "null", "[[[{}]]]"}) {
      // Either is fine; neither may crash or hang, and a refusal says something.
      const auto request = decode_review(testing::with(good, place, wrong));
      EXPECT_TRUE(request || !request.error().message.empty());
    }
  }
}

TEST(ReviewTest, WritesWhatIsAllowed) {
  EXPECT_EQ(encode_review("7f0c", {}),
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",)"
            R"("response":{"uid":"7f0c","allowed":true}})");
}

TEST(ReviewTest, WritesPatchAndWarnings) {
  AdmissionResponse answer;
  answer.patch = R"([{"op":"remove","path":"/x"}])";
  answer.warnings = {"one", "two"};
  const auto verdict = verdict_in(encode_review("u", answer));
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.patch, answer.patch);
  EXPECT_EQ(verdict.warnings, answer.warnings);
}

TEST(ReviewTest, WritesARefusalAndNoPatchBesideIt) {
  AdmissionResponse answer;
  answer.refusal = "pod a: \"quoted\"";
  answer.patch = "[]";
  auto verdict = verdict_in(encode_review("u", answer));
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.message, answer.refusal);
  EXPECT_EQ(verdict.reason, "BadRequest");
  EXPECT_EQ(verdict.code, 400);
  EXPECT_EQ(verdict.patch, "");
  answer.why = AdmissionResponse::Why::kForbidden;
  verdict = verdict_in(encode_review("u", answer));
  EXPECT_EQ(verdict.reason, "Forbidden");
  EXPECT_EQ(verdict.code, 403);
  EXPECT_EQ(verdict.retry_after_seconds, 0);
  answer.why = AdmissionResponse::Why::kBusy;
  verdict = verdict_in(encode_review("u", answer));
  EXPECT_EQ(verdict.reason, "TooManyRequests");
  EXPECT_EQ(verdict.code, 429);
  EXPECT_EQ(verdict.retry_after_seconds, 1) << "without it, no client tries again";
}

/// A pod with managedFields of that many levels.
std::string with_managed_fields(std::size_t depth) {
  std::string fields = "1";
  for (std::size_t i = 0; i < depth; ++i) fields = "{\"f:x\":" + fields + "}";
  return R"({"metadata":{"name":"a","managedFields":[{"fieldsV1":)" + fields +
         R"(}]},"spec":{"containers":[{"name":"main"}]}})";
}

TEST(ReviewTest, PassesOverWhatIsNotReadAtAnyDepth) {
  for (const std::size_t depth : {110U, 9'990U, 20'000U}) {
    const auto request = decode_review(review_text({.object = with_managed_fields(depth)}));
    ASSERT_TRUE(request.has_value()) << request.error().message;
    EXPECT_EQ(request->pod->containers.size(), 1U);
  }
}

TEST(ReviewTest, CountsContainersThatAreTooMany) {
  std::string containers = "{}";
  for (int i = 1; i < 5'000; ++i) containers += ",{}";
  const auto request =
      decode_review(review_text({.object = R"({"metadata":{},"spec":{"containers":[)" + containers +
                                           R"(],"initContainers":[{}]}})"}));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->pod->containers.size(), 1'000U);
  EXPECT_EQ(request->pod->more_containers, 4'001U);
}

}  // namespace
}  // namespace tangram::extender
