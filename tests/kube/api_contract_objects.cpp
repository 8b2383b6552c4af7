// The contract's part on reading, listing, creating, changing and deleting objects.
#include "kube/json_doc.hpp"
#include "tests/kube/api_contract.hpp"

#include <algorithm>

namespace tangram::testing {

using kube::Method;

void expect_same_object(const std::string& text, const std::string& expected) {
  const auto one = kube::JsonDoc::parse(text);
  const auto other = kube::JsonDoc::parse(expected);
  ASSERT_TRUE(one.has_value() && other.has_value()) << text << " and " << expected;
  for (const char* part : {"kind", "apiVersion", "metadata", "spec", "status"}) {
    EXPECT_TRUE(one->same_at(*other, {part})) << part << " of " << text << " and " << expected;
  }
}

std::vector<std::string> item_keys(const std::string& list) {
  std::vector<std::string> keys;
  for (const std::string& item : testing::items_of(list)) {
    keys.push_back(json_at(item, "metadata.namespace") + "/" + json_at(item, "metadata.name"));
  }
  return keys;
}

std::vector<std::string> item_names(const std::string& list) {
  std::vector<std::string> names = item_keys(list);
  for (std::string& name : names) name.erase(0, name.find('/') + 1);
  return names;
}

std::vector<std::string> told(const std::vector<std::string>& frames) {
  std::vector<std::string> lines;
  lines.reserve(frames.size());
  for (const std::string& frame : frames) {
    lines.push_back(json_at(frame, "type") + " " + json_at(frame, "object.metadata.name"));
  }
  return lines;
}

namespace {

using Names = std::vector<std::string>;

TEST_P(ApiContract, CreatedPodIsStampedAndReadBack) {
  const std::string created = create_pod({.name = "train-0"});
  const auto read = get(pod("train-0"));
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(json_at(read.body, "kind"), "Pod");
  EXPECT_EQ(json_at(read.body, "apiVersion"), "v1");
  EXPECT_EQ(json_at(read.body, "metadata.namespace"), ns);
  EXPECT_EQ(json_at(read.body, "status.phase"), "Pending");
  for (const char* stamp :
       {"metadata.uid", "metadata.resourceVersion", "metadata.creationTimestamp"}) {
    EXPECT_NE(json_at(created, stamp), "<none>") << stamp;
    EXPECT_EQ(json_at(read.body, stamp), json_at(created, stamp));
  }
}

TEST_P(ApiContract, CreatedPodIsPendingWhateverStatusIsSent) {
  EXPECT_EQ(json_at(create_pod({.phase = "Running"}), "status.phase"), "Pending");
}

TEST_P(ApiContract, GenerateNameMakesDifferentNames) {
  const std::string body =
      R"({"metadata":{"generateName":"job-"},"spec":{"containers":[{"name":"a","image":"i"}]}})";
  const auto first = write(Method::kPost, pods(), body);
  const auto second = write(Method::kPost, pods(), body);
  ASSERT_EQ(first.status, 201) << first.body;
  ASSERT_EQ(second.status, 201) << second.body;
  EXPECT_TRUE(json_at(first.body, "metadata.name").starts_with("job-"));
  EXPECT_NE(json_at(first.body, "metadata.name"), json_at(second.body, "metadata.name"));
}

TEST_P(ApiContract, RefusesSecondObjectOfTheName) {
  const std::string first = create_pod({});
  const auto again = write(Method::kPost, pods(), pod_json({.ns = ns, .node = "other"}));
  expect_refused(again, 409, "AlreadyExists");
  expect_same_object(get(pod("train-0")).body, first);
}

struct BadCreation {
  std::string name;
  std::string body;
  int status;
  std::string reason;
};

TEST_P(ApiContract, RefusesBadBodies) {
  const std::vector<BadCreation> cases{
      {"NotJson", "{", 400, "BadRequest"},
      {"OtherKind", R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}})", 400,
       "BadRequest"},
      {"OtherNamespace", pod_json({.ns = "elsewhere"}), 400, "BadRequest"},
      {"NameIsNumber", R"({"metadata":{"name":5}})", 400, "BadRequest"},
      {"AnnotationIsNumber", R"({"metadata":{"name":"a","annotations":{"x":1}}})", 400,
       "BadRequest"},
      {"BadQuantity", pod_json({.ns = ns, .requests = {{"cpu", "lots"}}}), 400, "BadRequest"},
      {"NoName", pod_json({.ns = ns, .name = ""}), 422, "Invalid"},
      {"BadName", pod_json({.ns = ns, .name = "Train_0"}), 422, "Invalid"},
  };
  for (const BadCreation& bad : cases) {
    SCOPED_TRACE(bad.name);
    expect_refused(write(Method::kPost, pods(), bad.body), bad.status, bad.reason);
  }
  EXPECT_EQ(item_names(list().body), Names{});
}

TEST_P(ApiContract, AnswersForWhatIsNotThere) {
  expect_refused(get(pod("nobody")), 404, "NotFound");
  expect_refused(patch(pod("nobody"), "{}"), 404, "NotFound");
  expect_refused(write(Method::kDelete, pod("nobody"), ""), 404, "NotFound");
  expect_refused(bind("nobody", "", "n1"), 404, "NotFound");
}

TEST_P(ApiContract, ListsByNamespaceInOrderOfNames) {
  const std::string other = server->fresh_namespace();
  create_pod({.name = "b"});
  create_pod({.name = "a"});
  const auto elsewhere = write(Method::kPost, "/api/v1/namespaces/" + other + "/pods",
                               pod_json({.ns = other, .name = "c"}));
  ASSERT_EQ(elsewhere.status, 201) << elsewhere.body;
  const auto listed = list();
  EXPECT_EQ(json_at(listed.body, "kind"), "PodList");
  EXPECT_EQ(item_names(listed.body), (Names{"a", "b"}));
  const Names all = item_keys(get("/api/v1/pods").body);
  for (const std::string& key : {ns + "/a", ns + "/b", other + "/c"}) {
    EXPECT_EQ(std::count(all.begin(), all.end(), key), 1) << key;
  }
}

TEST_P(ApiContract, PagesAddUpToOneMoment) {
  for (const char* name : {"a", "b", "c", "d", "e"}) create_pod({.name = name});
  const auto first = list({{"limit", "2"}});
  const std::string version = json_at(first.body, "metadata.resourceVersion");
  EXPECT_EQ(item_names(first.body), (Names{"a", "b"}));
  // What happens between the pages is not seen by them.
  create_pod({.name = "ca"});
  ASSERT_EQ(write(Method::kDelete, pod("d"), "").status, 200);
  const auto second =
      list({{"limit", "2"}, {"continue", json_at(first.body, "metadata.continue")}});
  EXPECT_EQ(item_names(second.body), (Names{"c", "d"}));
  const auto third =
      list({{"limit", "2"}, {"continue", json_at(second.body, "metadata.continue")}});
  EXPECT_EQ(item_names(third.body), (Names{"e"}));
  EXPECT_EQ(json_at(third.body, "metadata.resourceVersion"), version);
  EXPECT_EQ(json_at(third.body, "metadata.continue"), "<none>");
  // And is told by a watch from that moment on.
  EXPECT_EQ(told(watch({{"resourceVersion", version}}, 2)), (Names{"ADDED ca", "DELETED d"}));
}

TEST_P(ApiContract, RefusesContinueTokenOfForgottenHistory) {
  for (const char* name : {"a", "b", "c"}) create_pod({.name = name});
  const std::string token = json_at(list({{"limit", "1"}}).body, "metadata.continue");
  create_pod({.name = "d"});
  if (!server->expire_history()) GTEST_SKIP() << "this server cannot be made to forget its history";
  expect_refused(list({{"limit", "1"}, {"continue", token}}), 410, "Expired");
  EXPECT_EQ(item_names(list().body), (Names{"a", "b", "c", "d"}));
}

TEST_P(ApiContract, RefusesBadListQueries) {
  expect_refused(list({{"continue", "nonsense"}}), 400, "BadRequest");
  expect_refused(list({{"limit", "many"}}), 400, "BadRequest");
  expect_refused(list({{"fieldSelector", "spec.color=red"}}), 400, "BadRequest");
  expect_refused(list({{"fieldSelector", "metadata.name"}}), 400, "BadRequest");
  expect_refused(list({{"labelSelector", "=x"}}), 400, "BadRequest");
  expect_refused(list({{"labelSelector", "a=b=c"}}), 400, "BadRequest");
}

struct Selection {
  std::string selector;
  Names names;
};

TEST_P(ApiContract, FieldSelectorsChoose) {
  create_pod({.name = "bound", .node = "n1"});
  create_pod({.name = "done", .node = "n1"});
  create_pod({.name = "waiting"});
  ASSERT_EQ(patch(pod("done") + "/status", R"({"status":{"phase":"Succeeded"}})").status, 200);
  const std::vector<Selection> cases{
      {"spec.nodeName=n1", {"bound", "done"}},
      {"spec.nodeName==n1", {"bound", "done"}},
      {"spec.nodeName=", {"waiting"}},
      {"spec.nodeName!=", {"bound", "done"}},
      {"spec.nodeName!=n1", {"waiting"}},
      {"metadata.name=done", {"done"}},
      {"status.phase!=Succeeded,status.phase!=Failed", {"bound", "waiting"}},
      {"spec.nodeName=n1,status.phase=Succeeded", {"done"}},
      {"metadata.namespace=elsewhere", {}},
  };
  for (const Selection& selection : cases) {
    EXPECT_EQ(item_names(list({{"fieldSelector", selection.selector}}).body), selection.names)
        << selection.selector;
  }
}

TEST_P(ApiContract, LabelSelectorsChoose) {
  create_pod({.name = "a", .labels = {{"app", "train"}, {"example.com/tier", "1"}}});
  create_pod({.name = "b", .labels = {{"app", "serve"}}});
  create_pod({.name = "c", .labels = {{"app", ""}}});
  create_pod({.name = "d"});
  const std::vector<Selection> cases{
      {"app=train", {"a"}},
      {"app==train", {"a"}},
      {"app!=train", {"b", "c", "d"}},
      {"app", {"a", "b", "c"}},
      {"!app", {"d"}},
      {"app=", {"c"}},
      {"app,example.com/tier!=1", {"b", "c"}},
      {"example.com/tier=1,app=serve", {}},
  };
  for (const Selection& selection : cases) {
    EXPECT_EQ(item_names(list({{"labelSelector", selection.selector}}).body), selection.names)
        << selection.selector;
  }
  EXPECT_EQ(
      item_names(list({{"labelSelector", "app"}, {"fieldSelector", "metadata.name!=b"}}).body),
      (Names{"a", "c"}));
  // A change of labels changes what is selected.
  ASSERT_EQ(patch(pod("d"), R"({"metadata":{"labels":{"app":"train"}}})").status, 200);
  EXPECT_EQ(item_names(list({{"labelSelector", "app=train"}}).body), (Names{"a", "d"}));
}

TEST_P(ApiContract, MergePatchSetsAndErases) {
  create_pod({.annotations = {{"keep", "1"}, {"drop", "2"}}});
  const auto patched =
      patch(pod("train-0"), R"({"metadata":{"annotations":{"drop":null,"new":"3"}}})");
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(json_at(patched.body, "metadata.annotations"), R"({"keep":"1","new":"3"})");
  expect_same_object(get(pod("train-0")).body, patched.body);
}

TEST_P(ApiContract, WriteThatChangesNothingMakesNoVersion) {
  create_pod({.annotations = {{"a", "1"}}});
  const std::string before = get(pod("train-0")).body;
  const auto same = patch(pod("train-0"), R"({"metadata":{"annotations":{"a":"1"}}})");
  EXPECT_EQ(same.status, 200);
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, PatchHonoursItsVersion) {
  const std::string created = create_pod({});
  const std::string old = json_at(created, "metadata.resourceVersion");
  ASSERT_EQ(patch(pod("train-0"), R"({"metadata":{"labels":{"a":"1"}}})").status, 200);
  const std::string before = get(pod("train-0")).body;
  expect_refused(patch(pod("train-0"),
                       R"({"metadata":{"labels":{"a":"2"},"resourceVersion":")" + old + R"("}})"),
                 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, before);
  const std::string now = json_at(before, "metadata.resourceVersion");
  EXPECT_EQ(patch(pod("train-0"),
                  R"({"metadata":{"labels":{"a":"2"},"resourceVersion":")" + now + R"("}})")
                .status,
            200);
}

TEST_P(ApiContract, PatchCannotChangeIdentityOrNode) {
  const std::string before = create_pod({});
  expect_refused(patch(pod("train-0"), R"({"metadata":{"name":"other"}})"), 400, "BadRequest");
  expect_refused_somehow(patch(pod("train-0"), R"({"metadata":{"uid":"other"}})"));
  expect_refused(patch(pod("train-0"), R"({"spec":{"nodeName":"n1"}})"), 422, "Invalid");
  expect_refused_somehow(patch(pod("train-0"), R"({"metadata":{"labels":{"a":1}}})"));
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, StatusIsWrittenByItsSubresourceAlone) {
  create_pod({.node = "n1"});
  const std::string before = get(pod("train-0")).body;
  EXPECT_EQ(patch(pod("train-0"), R"({"status":{"phase":"Failed"}})").status, 200);
  expect_same_object(get(pod("train-0")).body, before);
  const auto patched =
      patch(pod("train-0") + "/status", R"({"status":{"phase":"Failed"},"spec":{"priority":7}})");
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(json_at(patched.body, "status.phase"), "Failed");
  EXPECT_EQ(json_at(patched.body, "spec"), json_at(before, "spec"));
}

TEST_P(ApiContract, RefusesOtherMethodsAndPaths) {
  const std::string before = create_pod({});
  expect_refused(write(Method::kPut, pods(), "{}"), 405, "MethodNotAllowed");
  expect_refused(write(Method::kPost, pod("train-0"), "{}"), 405, "MethodNotAllowed");
  expect_refused(write(Method::kPost, "/api/v1/pods", "{}"), 405, "MethodNotAllowed");
  expect_refused(get(pod("train-0") + "/binding"), 405, "MethodNotAllowed");
  EXPECT_EQ(get("/api/v1/namespaces/" + ns + "/gadgets").status, 404);
  EXPECT_EQ(get(pod("train-0") + "/gadget").status, 404);
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, UnboundPodGoesAtOnce) {
  create_pod({});
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), "").status, 200);
  expect_refused(get(pod("train-0")), 404, "NotFound");
}

TEST_P(ApiContract, BoundPodIsDeletedInTwoSteps) {
  create_pod({.node = "n1"});
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), "").status, 200);
  const std::string deleting = get(pod("train-0")).body;
  EXPECT_NE(json_at(deleting, "metadata.deletionTimestamp"), "<none>");
  EXPECT_EQ(json_at(deleting, "metadata.deletionGracePeriodSeconds"), "30");
  // Again, or longer: no change. Shorter: sooner.
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), "").status, 200);
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), R"({"gracePeriodSeconds":60})").status, 200);
  expect_same_object(get(pod("train-0")).body, deleting);
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), R"({"gracePeriodSeconds":5})").status, 200);
  EXPECT_EQ(json_at(get(pod("train-0")).body, "metadata.deletionGracePeriodSeconds"), "5");
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), R"({"gracePeriodSeconds":0})").status, 200);
  expect_refused(get(pod("train-0")), 404, "NotFound");
}

TEST_P(ApiContract, FinishedPodGoesAtOnce) {
  create_pod({.node = "n1"});
  ASSERT_EQ(patch(pod("train-0") + "/status", R"({"status":{"phase":"Succeeded"}})").status, 200);
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), "").status, 200);
  expect_refused(get(pod("train-0")), 404, "NotFound");
}

TEST_P(ApiContract, DeleteHonoursPreconditions) {
  const std::string created = create_pod({});
  expect_refused(write(Method::kDelete, pod("train-0"), R"({"preconditions":{"uid":"other"}})"),
                 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, created);
  const std::string uid = json_at(created, "metadata.uid");
  EXPECT_EQ(write(Method::kDelete, pod("train-0"), R"({"preconditions":{"uid":")" + uid + R"("}})")
                .status,
            200);
}

}  // namespace
}  // namespace tangram::testing
