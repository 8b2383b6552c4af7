// What deploy/scheduler/policy.yaml lets the extender's token write: one label of its own pod, the
// grant of a pod that it binds or resizes, and the nomination of a pod that waits.

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/raw_json.hpp"

namespace tangram::e2e {
namespace {

using ::testing::HasSubstr;

constexpr const char* kExtender = "system:serviceaccount:tangram-system:tangram-extender";
constexpr const char* kOtherImage =
    R"([{"op":"replace","path":"/spec/containers/0/image","value":"evil"}])";
const std::string kPods = "/api/v1/namespaces/tangram-system/pods";

class ExtenderPolicyTest : public E2eTest {
 protected:
  ExtenderPolicyTest() {
    for (const char* name : {"own", "agent"}) make(name);
    // The policy is applied with the rights; the API server reads it later. Its informers back off
    // for up to 30 s if they begin before it serves.
    const auto deadline = TimePoint::clock::now() + 90s;
    // Another value each time: what changes nothing is never refused.
    for (int i = 0;
         patch("own", R"({"metadata":{"labels":{"probe":")" + std::to_string(i) + "\"}}}").done();
         ++i) {
      if (TimePoint::clock::now() > deadline) throw std::runtime_error("no policy is in force");
      std::this_thread::sleep_for(50ms);
    }
    make("own");
  }
  ~ExtenderPolicyTest() override {
    for (const char* name : {"own", "agent"}) cluster_.remove(kPods + "/" + name);
  }

  /// @param metadata, spec, container  more of it
  void make(const std::string& name, const std::string& pods = kPods,
            const std::string& metadata = "", const std::string& spec = "",
            const std::string& container = "") {
    cluster_.remove(pods + "/" + name);
    cluster_.create(pods, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + "\"" +
                              metadata + R"(},"spec":{"schedulerName":"nobody",)" + spec +
                              R"("containers":[{"name":"main","image":"good")" + container +
                              "}]}}");
  }

  /// As the extender, with the token of the pod "own".
  static KubectlAnswer patch(const std::string& pod, const std::string& text,
                             const std::string& ns = "tangram-system") {
    const std::string type = text.starts_with('[') ? "--type=json" : "--type=merge";
    return kubectl({"--as-user-extra", "authentication.kubernetes.io/pod-name=own", "--namespace",
                    ns, "patch", "pod", pod, type, "-p", text},
                   "", kExtender);
  }
  static void expect_refused(const std::string& pod, const std::string& merge,
                             const std::string& why, const std::string& ns = "tangram-system") {
    const auto answer = patch(pod, merge, ns);
    EXPECT_FALSE(answer.done()) << merge;
    EXPECT_THAT(answer.text, HasSubstr(why)) << merge;
  }
};

TEST_F(ExtenderPolicyTest, ItsRoleAndNothingElse) {
  EXPECT_TRUE(patch("own", R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})").done());
  const auto own = parse_json(cluster_.get(kPods + "/own"));
  const std::string version = text_of(own["metadata"], "resourceVersion");
  EXPECT_TRUE(patch("own", R"({"metadata":{"resourceVersion":")" + version +
                               R"(","labels":{"tangram.dev/role":null}}})")
                  .done());
  expect_refused("own", R"({"metadata":{"labels":{"app":"x"}}})",
                 "only the label tangram.dev/role");
  expect_refused("own", R"({"metadata":{"annotations":{"x":"y"}}})",
                 "annotations only of a bound pod with a grant or a slot");
  expect_refused("own", R"({"metadata":{"annotations":{"tangram.dev/gpu-grant":"{}"}}})",
                 "annotations only of a bound pod with a grant or a slot");
  expect_refused("own", R"({"metadata":{"finalizers":["example.com/x"]}})",
                 "only labels and annotations in a pod's metadata");
  expect_refused("own", kOtherImage, "may not change a pod's spec");
}

TEST_F(ExtenderPolicyTest, OneAnnotationOfTheObjectThatWakesPods) {
  const std::string path = "/apis/storage.k8s.io/v1/namespaces/tangram-system/csistoragecapacities";
  // kubectl reads an object before it patches it, and that is not allowed.
  const auto extender = open_api(environment().extender_kubeconfig);
  const auto wake = [&](const std::string& object, const std::string& merge) {
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = path + "/" + object;
    request.content_type = "application/merge-patch+json";
    request.body = merge;
    return extender->call(request).value();
  };
  const std::string room = R"({"metadata":{"annotations":{"tangram.dev/room":"1"}}})";
  EXPECT_EQ(wake("tangram-wake", room).status, 200);
  for (const char* merge :
       {R"({"capacity":"1Ti"})", R"({"maximumVolumeSize":"1Gi"})",
        R"({"metadata":{"annotations":{"other":"x"}}})", R"({"metadata":{"labels":{"x":"y"}}})"}) {
    const auto answer = wake("tangram-wake", merge);
    EXPECT_GE(answer.status, 400) << merge;
    EXPECT_THAT(answer.body, HasSubstr("the extender may")) << merge;
  }
  cluster_.create(path, R"({"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity",)"
                        R"("metadata":{"name":"real"},"storageClassName":"fast"})");
  EXPECT_EQ(wake("real", room).status, 403);
  cluster_.remove(path + "/real");
}

TEST_F(ExtenderPolicyTest, ReportsOnRequestsOfMovesAndMakesNone) {
  const std::string path = "/api/v1/namespaces/tangram-system/configmaps";
  const auto extender = open_api(environment().extender_kubeconfig);
  const auto patched = [&](const std::string& object, const std::string& merge) {
    return extender
        ->call({.method = kube::Method::kPatch,
                .path = path + "/" + object,
                .body = merge,
                .content_type = "application/merge-patch+json"})
        .value();
  };
  EXPECT_EQ(extender->call({.path = path + "/tangram-defrag"}).value().status, 200);
  const std::string report = R"({"data":{"progress":"{}"}})";
  EXPECT_EQ(patched("tangram-defrag", report).status, 200);
  const std::string before = cluster_.get(path + "/tangram-defrag");
  for (const std::string& merge :
       {std::string(R"({"data":{"request":"{}"}})"), std::string(R"({"data":{"other":"x"}})"),
        std::string(R"({"metadata":{"labels":{"x":"y"}}})"),
        std::string(R"({"metadata":{"annotations":{"x":"y"}}})"),
        std::string(R"({"binaryData":{"request":"e30="}})"), std::string(R"({"immutable":true})"),
        R"({"data":{"progress":")" + std::string(8'193, 'x') + "\"}}"}) {
    const auto answer = patched("tangram-defrag", merge);
    EXPECT_GE(answer.status, 400) << merge;
    EXPECT_THAT(answer.body, HasSubstr("the extender may")) << merge;
  }
  EXPECT_EQ(cluster_.get(path + "/tangram-defrag"), before);
  cluster_.ensure(path, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}})");
  EXPECT_EQ(patched("other", report).status, 403);
  EXPECT_EQ(extender->call({.path = path + "/other"}).value().status, 403);
  cluster_.remove(path + "/other");
}

TEST_F(ExtenderPolicyTest, OnlyTheGrantOfAPodThatItBinds) {
  const auto extender = open_api(environment().extender_kubeconfig);
  const auto bind = [&](const std::string& path, const std::string& metadata) {
    kube::Request request;
    request.method = kube::Method::kPost;
    request.path = path;
    request.query["dryRun"] = "All";
    request.body = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"agent")" + metadata +
                   R"(},"target":{"apiVersion":"v1","kind":"Node","name":"zoned"}})";
    return extender->call(request).value();
  };
  // The API server adds the zone to the Binding, before the policy sees it.
  cluster_.ensure("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"zoned",)"
                                   R"("labels":{"topology.kubernetes.io/zone":"z"}}})");
  const std::string path = kPods + "/agent/binding";
  const std::string before = cluster_.get(kPods + "/agent");
  for (const char* metadata :
       {"", R"(,"annotations":{})", R"(,"annotations":{"tangram.dev/gpu-grant":"x"})"}) {
    const auto answer = bind(path, metadata);
    EXPECT_LT(answer.status, 300) << metadata << ": " << answer.body;
  }
  for (const char* metadata :
       {R"(,"labels":{"tangram.dev/role":"leader"})", R"(,"annotations":{"example.com/a":"b"})",
        R"(,"annotations":{"tangram.dev/gpu-fraction":"1"})",
        R"(,"annotations":{"tangram.dev/gpu-grant":"x","example.com/a":"b"})"}) {
    const auto answer = bind(path, metadata);
    EXPECT_GE(answer.status, 400) << metadata;
    EXPECT_THAT(answer.body, HasSubstr("the extender may")) << metadata;
  }
  EXPECT_EQ(cluster_.get(kPods + "/agent"), before);
  cluster_.remove("/api/v1/nodes/zoned");
}

TEST_F(ExtenderPolicyTest, OnlyTheGrantOfABoundPodThatHasOne) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string granted =
      R"(,"annotations":{"tangram.dev/gpu-grant":"old","tangram.dev/gpu-mem":"1Gi"})";
  const std::string node = R"("nodeName":"nowhere",)";
  const auto grant = [](const std::string& text, const std::string& more = "") {
    return R"({"metadata":{"annotations":{"tangram.dev/gpu-grant":)" + text + more + "}}}";
  };
  make("granted", pods, granted, node);
  make("bound", pods, "", node);
  make("waiting", pods, granted);
  make("own", pods, granted, node);  // of another namespace
  make("damaged", pods, "", node, R"(,"resources":{"limits":{"tangram.dev/gpu-slot":"1"}})");
  const auto revised = patch("granted", grant("\"new\""), "default");
  EXPECT_TRUE(revised.done()) << revised.text;
  EXPECT_TRUE(patch("own", grant("\"new\""), "default").done());
  expect_refused("damaged", grant("\"new\"", R"(,"example.com/x":"y")"),
                 "only the annotation tangram.dev/gpu-grant", "default");
  const auto repaired = patch("damaged", grant("\"new\""), "default");
  EXPECT_TRUE(repaired.done()) << repaired.text;
  const std::string before = cluster_.get(pods + "/granted");
  EXPECT_THAT(before, HasSubstr(R"("tangram.dev/gpu-grant":"new")"));
  const struct {
    const char* pod;
    std::string patch;
    const char* why;
  } rows[] = {
      {"granted", grant("null"), "annotations only of a bound pod with a grant or a slot"},
      {"bound", grant("\"new\""), "annotations only of a bound pod with a grant or a slot"},
      {"waiting", grant("\"new\""), "annotations only of a bound pod with a grant or a slot"},
      {"granted", grant("\"x\"", R"(,"tangram.dev/gpu-mem":"2Gi")"),
       "only the annotation tangram.dev/gpu-grant"},
      {"granted", R"({"metadata":{"annotations":{"example.com/x":"y"}}})",
       "only the annotation tangram.dev/gpu-grant"},
      {"granted", R"({"metadata":{"annotations":{"tangram.dev/gpu-mem":null}}})",
       "only the annotation tangram.dev/gpu-grant"},
      {"granted", R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})",
       "labels only of its own pod"},
      {"own", R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})",
       "labels only of its own pod"},
      {"granted", R"({"metadata":{"finalizers":["example.com/x"]}})",
       "only labels and annotations in a pod's metadata"},
      {"granted", kOtherImage, "may not change a pod's spec"},
      {"granted",
       R"({"metadata":{"annotations":{"tangram.dev/gpu-grant":"x"}},)"
       R"("spec":{"activeDeadlineSeconds":1}})",
       "may not change a pod's spec"}};
  for (const auto& row : rows) expect_refused(row.pod, row.patch, row.why, "default");
  EXPECT_EQ(cluster_.get(pods + "/granted"), before);
  for (const char* name : {"granted", "bound", "waiting", "own", "damaged"})
    cluster_.remove(pods + "/" + name);
}

TEST_F(ExtenderPolicyTest, OnlyTheNominationOfAPodWithoutANode) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  make("waiting", pods);
  make("bound", pods, "", R"("nodeName":"nowhere",)");
  const auto extender = open_api(environment().extender_kubeconfig);
  const auto write = [&](const std::string& pod, const std::string& merge) {
    kube::Request request;
    request.method = kube::Method::kPatch;
    request.path = pods + "/" + pod + "/status";
    request.content_type = "application/merge-patch+json";
    request.body = merge;
    return extender->call(request).value();
  };
  for (const char* node : {R"("a")", R"("b")", "null"}) {
    const auto answer =
        write("waiting", R"({"status":{"nominatedNodeName":)" + std::string(node) + "}}");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  const struct {
    const char* pod;
    const char* merge;
    const char* why;
  } rows[] = {{"bound", R"({"status":{"nominatedNodeName":"a"}})", "nominatedNodeName"},
              {"waiting", R"({"status":{"phase":"Failed"}})", "only nominatedNodeName"},
              {"waiting", R"({"status":{"nominatedNodeName":"a","message":"x"}})",
               "only nominatedNodeName"},
              {"waiting", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
               "only nominatedNodeName"},
              {"waiting", R"({"metadata":{"labels":{"x":"y"}},"status":{"nominatedNodeName":"a"}})",
               "labels only of its own pod"},
              {"waiting", R"({"metadata":{"annotations":{"tangram.dev/gpu-grant":"x"}}})",
               "annotations only of a bound pod"}};
  for (const auto& row : rows) {
    const auto answer = write(row.pod, row.merge);
    EXPECT_GE(answer.status, 400) << row.merge;
    EXPECT_THAT(answer.body, HasSubstr(row.why)) << row.merge;
  }
  for (const char* name : {"waiting", "bound"}) cluster_.remove(pods + "/" + name);
}

TEST_F(ExtenderPolicyTest, NoPodButItsOwn) {
  const std::string before = cluster_.get(kPods + "/agent");
  expect_refused("agent", R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})",
                 "labels only of its own pod");
  expect_refused("agent", kOtherImage, "denied");
  EXPECT_EQ(cluster_.get(kPods + "/agent"), before);
}

}  // namespace
}  // namespace tangram::e2e
