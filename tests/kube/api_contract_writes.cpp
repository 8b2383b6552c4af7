// The contract's part on binding, leases, events, nodes, budgets and namespaces.
#include "kube/leader_election.hpp"
#include "tests/kube/api_contract.hpp"

#include <algorithm>
#include <tuple>

namespace tangram::testing {
namespace {

using kube::Method;
using Names = std::vector<std::string>;

TEST_P(ApiContract, BindingSetsNodeAndAnnotationsInOneWrite) {
  const std::string created = create_pod({.annotations = {{"a", "old"}, {"b", "kept"}}});
  const std::string from = version();
  const auto bound = bind("train-0", json_at(created, "metadata.uid"), "no-such-node",
                          {{"a", "new"}, {"tangram.dev/gpu-grant", R"({"v":1})"}});
  EXPECT_EQ(bound.status, 201);
  EXPECT_EQ(json_at(bound.body, "kind"), "Status");
  EXPECT_EQ(json_at(bound.body, "status"), "Success");
  const std::string pod_now = get(pod("train-0")).body;
  EXPECT_EQ(json_at(pod_now, "spec.nodeName"), "no-such-node");
  EXPECT_EQ(json_at(pod_now, "metadata.annotations"),
            R"({"a":"new","b":"kept","tangram.dev/gpu-grant":"{\"v\":1}"})");
  EXPECT_NE(json_at(pod_now, "status.conditions").find(R"("PodScheduled")"), std::string::npos);
  const auto frames = watch({{"resourceVersion", from}}, 1);
  ASSERT_EQ(told(frames), Names{"MODIFIED train-0"});
  expect_same_object(json_at(frames[0], "object"), pod_now);
}

TEST_P(ApiContract, BindsWithoutAnnotations) {
  create_pod({});
  EXPECT_EQ(bind("train-0", "", "n1").status, 201);
  EXPECT_EQ(json_at(get(pod("train-0")).body, "spec.nodeName"), "n1");
}

TEST_P(ApiContract, BindingRefusesAnotherUid) {
  const std::string before = create_pod({});
  expect_refused(bind("train-0", "11111111-1111-4111-8111-111111111111", "n1"), 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, BindingRefusesAssignedPod) {
  create_pod({});
  ASSERT_EQ(bind("train-0", "", "n1", {{"a", "1"}}).status, 201);
  const std::string before = get(pod("train-0")).body;
  expect_refused(bind("train-0", "", "n1", {{"a", "2"}}), 409, "Conflict");
  expect_refused(bind("train-0", "", "n2"), 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, BindingRefusesGatedPod) {
  const std::string before = create_pod({.gated = true});
  expect_refused(bind("train-0", "", "n1"), 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, BindingRefusesPodBeingDeleted) {
  create_pod({.node = "n1"});
  ASSERT_EQ(write(Method::kDelete, pod("train-0"), "").status, 200);
  const std::string before = get(pod("train-0")).body;
  expect_refused(bind("train-0", "", "n2"), 409, "Conflict");
  expect_same_object(get(pod("train-0")).body, before);
}

TEST_P(ApiContract, BindingRefusesBadBodies) {
  const std::string before = create_pod({});
  const std::string path = pod("train-0") + "/binding";
  const auto post = [&](const std::string& body) { return write(Method::kPost, path, body); };
  expect_refused(post("{"), 400, "BadRequest");
  expect_refused(post(binding_json("other", "", "n1")), 400, "BadRequest");
  expect_refused(post(R"({"metadata":{"name":"train-0","namespace":"elsewhere"},)"
                      R"("target":{"name":"n1"}})"),
                 400, "BadRequest");
  expect_refused_somehow(post(binding_json("train-0", "", "")));
  expect_refused_somehow(
      post(R"({"metadata":{"name":"train-0"},"target":{"kind":"Card","name":"c"}})"));
  expect_same_object(get(pod("train-0")).body, before);
}

std::string eviction(const std::string& name, const std::string& uid) {
  return R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + name +
         R"("},"deleteOptions":{"gracePeriodSeconds":0,"preconditions":{"uid":")" + uid + "\"}}}";
}

TEST_P(ApiContract, EvictionDeletesAPodThatHasNotStarted) {
  const std::string created = create_pod({.node = "no-such-node", .labels = {{"app", "train"}}});
  ASSERT_EQ(write(Method::kPost, "/apis/policy/v1/namespaces/" + ns + "/poddisruptionbudgets",
                  budget_json("train", "train"))
                .status,
            201);
  const auto evicted = write(Method::kPost, pod("train-0") + "/eviction",
                             eviction("train-0", json_at(created, "metadata.uid")));
  EXPECT_EQ(evicted.status, 201) << evicted.body;
  EXPECT_EQ(json_at(evicted.body, "kind"), "Status");
  EXPECT_EQ(json_at(evicted.body, "status"), "Success");
  expect_refused(get(pod("train-0")), 404, "NotFound");
}

TEST_P(ApiContract, EvictionThatIsADryRunDeletesNothing) {
  const std::string created = create_pod({});
  const auto answer = write(Method::kPost, pod("train-0") + "/eviction",
                            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":)"
                            R"({"name":"train-0"},"deleteOptions":{"dryRun":["All"]}})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  expect_same_object(get(pod("train-0")).body, created);
}

TEST_P(ApiContract, NominationIsPartOfThePodsStatus) {
  const std::string created = create_pod({});
  const auto nominate = [&](const std::string& uid, const std::string& node) {
    return write(
        Method::kPatch, pod("train-0") + "/status",
        R"({"metadata":{"uid":")" + uid + R"("},"status":{"nominatedNodeName":")" + node + "\"}}");
  };
  const auto set = nominate(json_at(created, "metadata.uid"), "n1");
  EXPECT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(json_at(get(pod("train-0")).body, "status.nominatedNodeName"), "n1");
  expect_refused_somehow(nominate("another", "n2"));
  EXPECT_EQ(json_at(get(pod("train-0")).body, "status.nominatedNodeName"), "n1");
}

TEST_P(ApiContract, EvictionRefusesAnotherUid) {
  const std::string created = create_pod({});
  // A real server takes the conflict for one of versions and tries again by itself for a while.
  auto request =
      write_request(Method::kPost, pod("train-0") + "/eviction", eviction("train-0", "another"));
  request.timeout = std::chrono::seconds(60);
  expect_refused_somehow(call(request));
  expect_same_object(get(pod("train-0")).body, created);
}

TEST_P(ApiContract, EvictionRefusesBadBodies) {
  const std::string created = create_pod({});
  const std::string path = pod("train-0") + "/eviction";
  expect_refused(write(Method::kPost, path, eviction("train-1", "")), 400, "BadRequest");
  expect_refused(write(Method::kPost, path, "{"), 400, "BadRequest");
  expect_refused(write(Method::kPost, path, R"({"kind":"Pod","apiVersion":"v1"})"), 400,
                 "BadRequest");
  expect_refused(write(Method::kPost, pod("nobody") + "/eviction", eviction("nobody", "")), 404,
                 "NotFound");
  expect_same_object(get(pod("train-0")).body, created);
}

TEST_P(ApiContract, LeaseIsTakenByOneOfTwo) {
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases";
  const auto lease = [](const std::string& holder, const std::string& at) {
    return R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"leader")" +
           (at.empty() ? "" : R"(,"resourceVersion":")" + at + "\"") +
           R"(},"spec":{"holderIdentity":")" + holder + R"(","leaseDurationSeconds":15}})";
  };
  const auto made = write(Method::kPost, path, lease("one", ""));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(json_at(made.body, "kind"), "Lease");
  const std::string seen = json_at(made.body, "metadata.resourceVersion");
  const auto taken = write(Method::kPut, path + "/leader", lease("two", seen));
  EXPECT_EQ(taken.status, 200) << taken.body;
  expect_refused(write(Method::kPut, path + "/leader", lease("one", seen)), 409, "Conflict");
  expect_same_object(get(path + "/leader").body, taken.body);
  EXPECT_EQ(json_at(taken.body, "spec.holderIdentity"), "two");
  EXPECT_EQ(json_at(taken.body, "metadata.uid"), json_at(made.body, "metadata.uid"));
}

TEST_P(ApiContract, LeaderIsElectedAndGivesTheLeaseBack) {
  const SystemClock clock;
  const auto candidate = [&](const std::string& identity) {
    return *kube::LeaderElector::create(
        {.ns = ns, .name = "leader", .identity = identity},
        {.api = server->api(), .clock = clock, .random = [] { return 0.0; }}, {});
  };
  ASSERT_EQ(write(Method::kPost, "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases",
                  R"({"metadata":{"name":"leader"},"spec":{}})")
                .status,
            201);
  const auto one = candidate("one");
  const auto two = candidate("two");
  for (int i = 0; i < 2; ++i) {
    one->step();
    two->step();
  }
  EXPECT_TRUE(one->leads_past(clock.now()));
  EXPECT_FALSE(two->status().leading);
  EXPECT_EQ(two->status().holder, "one");
  one->resign();
  two->step();
  EXPECT_FALSE(one->status().leading);
  EXPECT_TRUE(two->leads_past(clock.now()));
  EXPECT_EQ(two->status().transitions, 2);
}

TEST_P(ApiContract, PutOfADeletedObjectIsAConflict) {
  const std::string path = "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases";
  const auto made = write(Method::kPost, path, R"({"metadata":{"name":"leader"},"spec":{}})");
  ASSERT_EQ(made.status, 201) << made.body;
  ASSERT_EQ(write(Method::kDelete, path + "/leader", "").status, 200);
  expect_refused(write(Method::kPut, path + "/leader", made.body), 409, "Conflict");
}

TEST_P(ApiContract, PutOfNothingIsNotFound) {
  expect_refused(write(Method::kPut, pod("nobody"), pod_json({.ns = ns, .name = "nobody"})), 404,
                 "NotFound");
}

std::string event(const std::string& ns, const std::string& without) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("apiVersion", "events.k8s.io/v1").member("kind", "Event");
  out.key("metadata").begin_object().member("name", "train-0.1").end_object();
  const std::map<std::string, std::string> members{{"eventTime", "2026-01-01T00:00:00.000000Z"},
                                                   {"reportingController", "tangram.dev/extender"},
                                                   {"reportingInstance", "extender-0"},
                                                   {"action", "Binding"},
                                                   {"reason", "GpuBound"},
                                                   {"type", "Normal"},
                                                   {"note", "bound"}};
  for (const auto& [name, value] : members) {
    if (name != without) out.member(name, value);
  }
  out.key("regarding").begin_object().member("kind", "Pod").member("name", "train-0");
  out.member("namespace", ns);
  out.end_object().end_object();
  return text;
}

TEST_P(ApiContract, EventsNeedWhatTheServerValidates) {
  const std::string path = "/apis/events.k8s.io/v1/namespaces/" + ns + "/events";
  for (const char* missing :
       {"eventTime", "reportingController", "reportingInstance", "action", "reason", "type"}) {
    SCOPED_TRACE(missing);
    expect_refused(write(Method::kPost, path, event(ns, missing)), 422, "Invalid");
  }
  // Others may write events into any namespace.
  const auto told_of_it = [&] {
    const Names names = item_names(get(path).body);
    return std::count(names.begin(), names.end(), "train-0.1");
  };
  EXPECT_EQ(told_of_it(), 0);
  const auto made = write(Method::kPost, path, event(ns, ""));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(told_of_it(), 1);
}

TEST_P(ApiContract, EventBecomesASeries) {
  const std::string path = "/apis/events.k8s.io/v1/namespaces/" + ns + "/events";
  ASSERT_EQ(write(Method::kPost, path, event(ns, "")).status, 201);
  const std::string again =
      R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:05.000000Z"}})";
  const auto repeated = patch(path + "/train-0.1", again);
  EXPECT_EQ(repeated.status, 200) << repeated.body;
  EXPECT_EQ(json_at(repeated.body, "series.count"), "2");
  EXPECT_EQ(json_at(repeated.body, "series.lastObservedTime"), "2026-01-01T00:00:05.000000Z");
  EXPECT_EQ(patch(path + "/nobody", again).status, 404);
}

// A merge patch replaces a list as a whole, so it names the version that it was made from.
TEST_P(ApiContract, APatchOfAnOlderVersionChangesNothing) {
  const auto webhook = [](const std::string& name) {
    return R"({"name":")" + name +
           R"(.tangram.dev","clientConfig":{"url":"https://localhost/none"},)"
           R"("sideEffects":"None","admissionReviewVersions":["v1"]})";
  };
  const std::string admission = "/apis/admissionregistration.k8s.io/v1/";
  const std::string secrets = "/api/v1/namespaces/" + ns + "/secrets";
  for (const auto& [collection, content, change] :
       {std::tuple{secrets, std::string(R"("data":{"ca.crt":"YQ=="})"),
                   std::string(R"("data":{"ca.crt":"Yg=="})")},
        std::tuple{"/api/v1/namespaces/" + ns + "/configmaps",
                   std::string(R"("data":{"request":"YQ=="})"),
                   std::string(R"("data":{"request":""})")},
        std::tuple{admission + "mutatingwebhookconfigurations",
                   R"("webhooks":[)" + webhook("a") + "]", R"("webhooks":[)" + webhook("b") + "]"},
        std::tuple{admission + "validatingwebhookconfigurations",
                   R"("webhooks":[)" + webhook("a") + "]",
                   R"("webhooks":[)" + webhook("b") + "]"}}) {
    const std::string name = "contract-" + ns;
    const auto made = write(Method::kPost, collection,
                            R"({"metadata":{"name":")" + name + R"("},)" + content + "}");
    ASSERT_EQ(made.status, 201) << made.body;
    const std::string path = collection + "/" + name;
    const std::string versioned = R"({"metadata":{"resourceVersion":")" +
                                  json_at(made.body, "metadata.resourceVersion") + R"("},)" +
                                  change + "}";
    EXPECT_EQ(patch(path, versioned).status, 200) << collection;
    const std::string before = get(path).body;
    EXPECT_EQ(before.find("YQ=="), std::string::npos);
    EXPECT_EQ(before.find("a.tangram.dev"), std::string::npos);
    expect_refused(patch(path, versioned), 409, "Conflict");
    expect_same_object(get(path).body, before);
    EXPECT_EQ(write(Method::kDelete, path, "").status, 200);
  }
}

TEST_P(ApiContract, DeploymentsTemplateIsMarked) {
  const std::string path = "/apis/apps/v1/namespaces/" + ns + "/deployments";
  const auto made = write(
      Method::kPost, path,
      R"({"metadata":{"name":"idle"},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"idle"}},)"
      R"("template":{"metadata":{"labels":{"app":"idle"}},)"
      R"("spec":{"containers":[{"name":"main","image":"none"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto marked =
      patch(path + "/idle",
            R"({"spec":{"template":{"metadata":{"annotations":{"tangram.dev/a":"b"}}}}})");
  EXPECT_EQ(marked.status, 200) << marked.body;
  EXPECT_EQ(json_at(get(path + "/idle").body, "spec.template.metadata.labels.app"), "idle");
  EXPECT_NE(json_at(get(path + "/idle").body, "spec.template.metadata.annotations").find("\"b\""),
            std::string::npos);
  EXPECT_EQ(write(Method::kDelete, path + "/idle", "").status, 200);
}

TEST_P(ApiContract, NodeIsAnnotatedAndReportsCapacity) {
  const std::string name = "node-of-" + ns;
  const std::string path = "/api/v1/nodes/" + name;
  ASSERT_EQ(write(Method::kPost, "/api/v1/nodes", node_json(name)).status, 201);
  const auto annotated = patch(path, R"({"metadata":{"annotations":{"tangram.dev/cards":"{}"}}})");
  EXPECT_EQ(annotated.status, 200);
  // Not 4000: a real server would give back "4k".
  const auto reported =
      patch(path + "/status", R"({"status":{"capacity":{"tangram.dev/gpu-milli":"4500"}}})");
  EXPECT_EQ(reported.status, 200);
  const std::string now = get(path).body;
  const auto says = [&](const char* where, const std::string& what) {
    return json_at(now, where).find(what) != std::string::npos;
  };
  EXPECT_TRUE(says("metadata.annotations", R"("tangram.dev/cards":"{}")")) << now;
  EXPECT_TRUE(says("status.capacity", R"("tangram.dev/gpu-milli":"4500")")) << now;
  EXPECT_TRUE(says("status.capacity", R"("memory":"32Gi")")) << now;
  // null takes a member away; another Node of the name is not written to.
  EXPECT_EQ(
      patch(path + "/status", R"({"status":{"capacity":{"tangram.dev/gpu-milli":null}}})").status,
      200);
  EXPECT_EQ(json_at(get(path).body, "status.capacity").find("tangram.dev"), std::string::npos);
  for (const char* subresource : {"", "/status"}) {
    expect_refused(
        patch(path + subresource, R"({"metadata":{"uid":"another","labels":{"a":"b"}},)"
                                  R"("status":{"capacity":{"tangram.dev/gpu-milli":"1"}}})"),
        422, "Invalid");
  }
  // Not the whole object: the controllers of a real cluster write to it meanwhile.
  const std::string after = get(path).body;
  EXPECT_EQ(json_at(after, "metadata.labels").find("\"a\""), std::string::npos) << after;
  EXPECT_EQ(json_at(after, "status.capacity").find("tangram.dev"), std::string::npos) << after;
  EXPECT_EQ(write(Method::kDelete, path, "").status, 200);
  expect_refused(get(path), 404, "NotFound");
}

TEST_P(ApiContract, DisruptionBudgetIsWrittenAndWatched) {
  const std::string path = "/apis/policy/v1/namespaces/" + ns + "/poddisruptionbudgets";
  const std::string from = json_at(get(path).body, "metadata.resourceVersion");
  const auto made = write(Method::kPost, path, budget_json("train", "train"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(json_at(made.body, "kind"), "PodDisruptionBudget");
  const Names everywhere = item_keys(get("/apis/policy/v1/poddisruptionbudgets").body);
  EXPECT_EQ(std::count(everywhere.begin(), everywhere.end(), ns + "/train"), 1);
  EXPECT_EQ(item_names(get(path).body), Names{"train"});
  expect_refused(write(Method::kPost, path, budget_json("train", "other")), 409, "AlreadyExists");
  const auto reported = patch(path + "/train/status",
                              R"({"status":{"disruptionsAllowed":1,"currentHealthy":2,)"
                              R"("desiredHealthy":1,"expectedPods":2,"observedGeneration":1}})");
  EXPECT_EQ(reported.status, 200) << reported.body;
  EXPECT_EQ(json_at(reported.body, "status.disruptionsAllowed"), "1");
  EXPECT_EQ(json_at(reported.body, "spec.minAvailable"), "1");
  EXPECT_EQ(write(Method::kDelete, path + "/train", "").status, 200);
  expect_refused(get(path + "/train"), 404, "NotFound");
  // A cluster's own controller may have reported too.
  Names all = told(watch(path, {{"resourceVersion", from}}, 3));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], "ADDED train");
  EXPECT_EQ(all[1], "MODIFIED train");
}

TEST_P(ApiContract, NewDisruptionBudgetHasNoStatusYet) {
  const std::string path = "/apis/policy/v1/namespaces/" + ns + "/poddisruptionbudgets";
  std::string text = budget_json("train", "train");
  text.insert(text.size() - 1, R"(,"status":{"disruptionsAllowed":7})");
  const auto made = write(Method::kPost, path, text);
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(json_at(made.body, "status.disruptionsAllowed"), "7");
}

TEST_P(ApiContract, NamespaceIsReadListedAndNotMadeTwice) {
  const std::string path = "/api/v1/namespaces";
  const auto read = get(path + "/" + ns);
  EXPECT_EQ(read.status, 200);
  EXPECT_EQ(json_at(read.body, "kind"), "Namespace");
  EXPECT_EQ(json_at(read.body, "status.phase"), "Active");
  const Names names = item_names(get(path).body);
  EXPECT_EQ(std::count(names.begin(), names.end(), ns), 1);
  expect_refused(write(Method::kPost, path, R"({"metadata":{"name":")" + ns + R"("}})"), 409,
                 "AlreadyExists");
  expect_refused(get(path + "/no-" + ns), 404, "NotFound");
}

}  // namespace
}  // namespace tangram::testing
