// What is LocalApi's own: loading, bookmarks, bounded history, and what it refuses to pretend.
#include "kube/local/api.hpp"

#include "tests/kube/api_contract.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::kube {
namespace {

using testing::expect_refused;
using testing::get_request;
using testing::item_names;
using testing::json_at;
using testing::write_request;
using Names = std::vector<std::string>;

class LocalApiTest : public ::testing::Test {
 protected:
  Response call(const Request& request) { return *api.call(request); }
  std::string body(const std::string& path) { return call(get_request(path)).body; }
  void create(const std::string& name) {
    const auto made = call(write_request(Method::kPost, "/api/v1/namespaces/ml/pods",
                                         testing::pod_json({.name = name})));
    ASSERT_EQ(made.status, 201) << made.body;
  }

  testing::ManualClock clock;
  LocalApi api{clock, {.history = 3}};
};

TEST_F(LocalApiTest, SameCallsMakeTheSameObjects) {
  create("a");
  const std::string text = body("/api/v1/namespaces/ml/pods/a");
  EXPECT_EQ(json_at(text, "metadata.uid"), "00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(json_at(text, "metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(json_at(text, "metadata.resourceVersion"), "2");
}

TEST_F(LocalApiTest, BookmarkFollowsWhenTheStreamHasNothingMoreToSay) {
  create("a");
  Names frames;
  const auto end = api.watch(
      get_request("/api/v1/pods", {{"allowWatchBookmarks", "true"}}),
      [&](const std::string& frame) {
        frames.push_back(json_at(frame, "type") +
                         json_at(frame, "object.metadata.resourceVersion"));
        return frames.size() < 2;
      },
      std::stop_token());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->status, 200);
  EXPECT_EQ(frames, (Names{"ADDED2", "BOOKMARK2"}));
}

TEST_F(LocalApiTest, HistoryIsBounded) {
  create("a");
  const std::string version = json_at(body("/api/v1/pods"), "metadata.resourceVersion");
  const std::string token =
      json_at(call(get_request("/api/v1/pods", {{"limit", "1"}})).body, "metadata.continue");
  EXPECT_EQ(token, "<none>");
  for (const char* name : {"b", "c", "d", "e"}) create(name);
  std::string first;
  ASSERT_TRUE(api.watch(
                     get_request("/api/v1/pods", {{"resourceVersion", version}}),
                     [&](const std::string& frame) {
                       first = frame;
                       return false;
                     },
                     std::stop_token())
                  .has_value());
  EXPECT_EQ(json_at(first, "object.code"), "410");
  EXPECT_EQ(item_names(body("/api/v1/pods")), (Names{"a", "b", "c", "d", "e"}));
}

TEST_F(LocalApiTest, CompactionEndsOpenWatches) {
  Names frames;
  const auto end = api.watch(
      get_request("/api/v1/pods", {{"allowWatchBookmarks", "true"}}),
      [&](const std::string& frame) {
        frames.push_back(json_at(frame, "type"));
        if (frames.size() == 1) api.compact();
        return true;
      },
      std::stop_token());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(frames, (Names{"BOOKMARK", "ERROR"}));
}

TEST_F(LocalApiTest, WatchEndsAfterItsTimeout) {
  const auto end = api.watch(
      get_request("/api/v1/pods", {{"timeoutSeconds", "1"}}),
      [](const std::string& /*frame*/) { return true; }, std::stop_token());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->status, 200);
}

TEST_F(LocalApiTest, RefusesWhatItDoesNotDo) {
  create("a");
  const std::string path = "/api/v1/namespaces/ml/pods/a";
  const std::string before = body(path);
  auto patch = write_request(Method::kPatch, path, "[]");
  for (const char* type :
       {"application/json-patch+json", "application/strategic-merge-patch+json", "text/plain"}) {
    patch.content_type = type;
    expect_refused(call(patch), 415, "UnsupportedMediaType");
  }
  expect_refused(call(get_request("/api/v1/pods", {{"labelSelector", "a in (b)"}})), 400,
                 "BadRequest");
  const std::string ns = R"({"metadata":{"name":"ml"}})";
  EXPECT_EQ(call(write_request(Method::kPost, "/api/v1/namespaces", ns)).status, 201);
  expect_refused(call(write_request(Method::kDelete, "/api/v1/namespaces/ml", "")), 405,
                 "MethodNotAllowed");
  auto dry = write_request(Method::kDelete, path, "");
  dry.query["dryRun"] = "All";
  expect_refused(call(dry), 400, "BadRequest");
  expect_refused(call(write_request(Method::kPatch, path, "[1]")), 400, "BadRequest");
  expect_refused(
      call(write_request(Method::kPost, "/api/v1/namespaces/ml/pods", std::string(3'145'729, ' '))),
      413, "RequestEntityTooLarge");
  const auto streaming = api.watch(
      get_request("/api/v1/pods", {{"sendInitialEvents", "true"}}),
      [](const std::string&) { return false; }, std::stop_token());
  expect_refused(*streaming, 422, "Invalid");
  const auto future = api.watch(
      get_request("/api/v1/pods", {{"resourceVersion", "999"}}),
      [](const std::string&) { return false; }, std::stop_token());
  expect_refused(*future, 504, "Timeout");
  EXPECT_EQ(body(path), before);
}

TEST_F(LocalApiTest, LoadsYamlAsKubectlWould) {
  const auto loaded = api.load_yaml(R"(
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {tangram.dev/gpu: true, zone: 1}
status:
  allocatable: {cpu: 8, memory: 32Gi}
---
---
apiVersion: v1
kind: List
items:
- kind: Pod
  metadata: {name: p1, annotations: {tangram.dev/gpu-fraction: 0.5}}
  spec:
    nodeName: n1
    priority: 5
    hostNetwork: true
    containers: [{name: main, resources: {requests: {cpu: 1, memory: 1e9}}}]
  status: {phase: Running}
- kind: Lease
  apiVersion: coordination.k8s.io/v1
  metadata: {name: "1", namespace: kube-system}
- kind: PodDisruptionBudget
  apiVersion: policy/v1
  metadata: {name: train}
  spec: {minAvailable: 1, selector: {matchLabels: {app: train}}}
  status: {disruptionsAllowed: 2}
)");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ(*loaded, 4U);
  const std::string node = body("/api/v1/nodes/n1");
  EXPECT_EQ(json_at(node, "metadata.labels"), R"({"tangram.dev/gpu":"true","zone":"1"})");
  EXPECT_EQ(json_at(node, "status.allocatable"), R"({"cpu":"8","memory":"32Gi"})");
  const std::string pod = body("/api/v1/namespaces/default/pods/p1");
  EXPECT_EQ(json_at(pod, "metadata.annotations"), R"({"tangram.dev/gpu-fraction":"0.5"})");
  EXPECT_EQ(json_at(pod, "spec.priority"), "5");
  EXPECT_EQ(json_at(pod, "spec.hostNetwork"), "true");
  EXPECT_EQ(json_at(pod, "status.phase"), "Running");
  EXPECT_EQ(item_names(body("/apis/coordination.k8s.io/v1/leases")), Names{"1"});
  const std::string budget = body("/apis/policy/v1/namespaces/default/poddisruptionbudgets/train");
  EXPECT_EQ(json_at(budget, "status.disruptionsAllowed"), "2");
}

struct BadYaml {
  std::string name;
  std::string text;
  std::string says;
  friend void PrintTo(const BadYaml& c, std::ostream* out) { *out << c.name; }
};

class RefusedYaml : public LocalApiTest, public ::testing::WithParamInterface<BadYaml> {};

TEST_P(RefusedYaml, NamesTheLineAndLoadsNothing) {
  const auto loaded = api.load_yaml("kind: Node\nmetadata: {name: good}\n---\n" + GetParam().text);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Errc::kInvalidArgument);
  EXPECT_TRUE(loaded.error().message.starts_with(GetParam().says)) << loaded.error().message;
  EXPECT_EQ(item_names(body("/api/v1/nodes")), Names{});
}

INSTANTIATE_TEST_SUITE_P(
    Texts, RefusedYaml,
    ::testing::Values(
        BadYaml{"Syntax", "kind: [Node\n", "line 5: not valid YAML"},
        BadYaml{"Scalar", "hello\n", "line 4: expected an object"},
        BadYaml{"StrayComma", ",\n\n", "line 4: expected an object"},
        BadYaml{"UnknownKind", "kind: Gadget\n", "line 4: kind \"Gadget\" cannot be loaded"},
        BadYaml{"NoKind", "metadata: {name: a}\n", "line 4: kind \"\" cannot be loaded"},
        BadYaml{"NoName", "kind: Pod\n", "line 4: Pod \"\" is invalid: metadata.name"},
        BadYaml{"KeyTwice", "kind: Pod\nkind: Pod\n", "line 5: key \"kind\" stands twice"},
        BadYaml{"BadItem", "kind: List\nitems:\n- 5\n", "line 6: expected an object"},
        BadYaml{"ListWithoutItems", "kind: List\n", "line 4: a List needs items"},
        BadYaml{"Quantity", "kind: Node\nmetadata: {name: b}\nstatus: {allocatable: {cpu: lots}}\n",
                "line 4: status.allocatable.cpu"},
        BadYaml{"SameNameTwice", "kind: Node\nmetadata: {name: good}\n",
                "line 4: an object of this kind and name"},
        BadYaml{"MapKey", "kind: Node\n? {a: b}\n: 1\n", "line 5: a key must be a word"}),
    [](const auto& test) { return test.param.name; });

TEST_F(LocalApiTest, AliasBombIsRefused) {
  std::string text = "kind: Node\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string was = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + was;
    for (int j = 0; j < 9; ++j) text += "," + was;
    text += "]\n";
  }
  const auto loaded = api.load_yaml(text);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("too large with its aliases"), std::string::npos);
}

}  // namespace
}  // namespace tangram::kube
