#include "tests/extender/app_rig.hpp"
#include "tests/testing/exposition.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <future>

namespace tangram::extender {
namespace {

using testing::any_binding;
using testing::eventually;
using testing::Exposition;
using testing::Fault;
using testing::json_at;

/// Nodes a and b with two cards each.
class AppTest : public ::testing::Test {
 protected:
  AppTest() {
    cluster_.add_node("a", 2);
    cluster_.add_node("b", 2);
  }
  Cluster cluster_;
};

TEST_F(AppTest, SaysThatItIsAliveAndReady) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  EXPECT_EQ(caller.get("/healthz").status, 200);
  EXPECT_EQ(caller.get("/readyz").status, 200);
}

TEST_F(AppTest, IsAliveButNotReadyWhileItReadsTheCluster) {
  cluster_.api.will({kube::Method::kGet, "/api/v1/pods"}, Fault::Kind::kHold);
  const std::string uid = cluster_.add_pod("p", "0.5");
  const auto app = start(cluster_);
  cluster_.api.await_held(1);
  Caller caller(app->port());
  EXPECT_EQ(caller.get("/healthz").status, 200);
  EXPECT_EQ(caller.get("/readyz").status, 503);
  const auto filtered = caller.post("/filter", filter_body(cluster_, "p", R"(["a"])"));
  EXPECT_EQ(filtered.status, 200);
  EXPECT_NE(json_at(filtered.body, "Error").find("try again"), std::string::npos);
  EXPECT_NE(caller.bind("p", uid, "a").find("try again"), std::string::npos);
  EXPECT_TRUE(cluster_.api.calls(any_binding()).empty());
  cluster_.api.release();
  ASSERT_TRUE(eventually([&] { return app->synced(); }));
  EXPECT_EQ(caller.get("/readyz").status, 200);
  EXPECT_EQ(caller.bind("p", uid, "a"), "");
}

TEST_F(AppTest, WakesAPodWhoseRoomAppearsAfterItsAnswer) {
  cluster_.ask(testing::write_request(
      kube::Method::kPost, "/apis/storage.k8s.io/v1/namespaces/ml/csistoragecapacities",
      R"({"metadata":{"name":"tangram-wake"},"storageClassName":"tangram.dev.wake"})"));
  cluster_.add_node("one", 1);
  const auto app = App::create(
      test_config(),
      {.api = cluster_.api, .clock = cluster_.clock, .replica = std::nullopt, .ns = "ml"});
  ASSERT_TRUE(eventually([&] { return (*app)->synced(); }));
  Caller caller((*app)->port());
  ASSERT_EQ(caller.bind("there", cluster_.add_pod("there", "1"), "one"), "");
  const auto writes = [&] {
    return cluster_.api.calls({kube::Method::kPatch, "/tangram-wake"}).size();
  };
  const auto writes_later = [&](std::size_t count) {
    return eventually([&] {
      cluster_.clock.advance(std::chrono::milliseconds(50));
      return writes() == count;
    });
  };
  ASSERT_TRUE(writes_later(Waker::kOfTerm.size())) << "at the start of the term";
  const std::string uid = cluster_.add_pod("p", "0.5");
  ASSERT_TRUE(eventually([&] { return (*app)->pods().find(uid) != nullptr; }));
  const auto refused = caller.post("/filter", filter_body(cluster_, "p", R"(["one"])"));
  ASSERT_EQ(json_at(refused.body, "NodeNames"), "[]");
  cluster_.clock.advance(Waker::kPatience);
  auto end = testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/there", "");
  end.query["gracePeriodSeconds"] = "0";
  cluster_.ask(end);
  EXPECT_TRUE(writes_later(Waker::kOfTerm.size() + 1));
}

TEST_F(AppTest, SchedulesAPodAsKubeSchedulerAsks) {
  const auto app = start_synced(cluster_);
  const std::string uid = cluster_.add_pod("p", "0.5");
  Caller caller(app->port());
  const auto none = caller.post("/filter", filter_body(cluster_, "p", R"(["c"])"));
  EXPECT_EQ(json_at(none.body, "FailedAndUnresolvableNodes"),
            R"({"c":"node has not reported its GPU cards"})");
  const auto filtered = caller.post("/filter", filter_body(cluster_, "p", R"(["a","b","c"])"));
  EXPECT_EQ(filtered.status, 200);
  EXPECT_EQ(filtered.header("Content-Type"), "application/json");
  EXPECT_EQ(json_at(filtered.body, "NodeNames"), R"(["a"])");
  EXPECT_EQ(json_at(filtered.body, "FailedAndUnresolvableNodes"), "{}");
  const auto scored = caller.post("/prioritize", filter_body(cluster_, "p", R"(["a","b"])"));
  EXPECT_EQ(scored.body, R"([{"Host":"a","Score":10},{"Host":"b","Score":9}])");
  EXPECT_EQ(caller.bind("p", uid, "a"), "");
  const kube::Pod pod = cluster_.pod("p");
  EXPECT_EQ(pod.node, "a");
  const auto grant = model::decode_grant(pod.annotations.at("gpu-grant"));
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_EQ(grant->pod_uid, uid);
  EXPECT_EQ(caller.bind("p", uid, "a"), "");
  EXPECT_EQ(cluster_.api.calls(any_binding()).size(), 1U);
}

TEST_F(AppTest, AnswersPreempt) {
  const auto app = start_synced(cluster_);
  cluster_.add_pod("p", "0.5");
  Caller caller(app->port());
  const std::string victims = R"({"a":{"Pods":[{"UID":"u"}],"NumPDBViolations":0}})";
  const auto reply = caller.post("/preempt", R"({"Pod":)" + cluster_.read("p") +
                                                 R"(,"NodeNameToMetaVictims":)" + victims + "}");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json_at(reply.body, "NodeNameToMetaVictims"), victims);
}

struct Wrong {
  std::string name;
  std::string method;
  std::string target;
  int status;
};
void PrintTo(const Wrong& row, std::ostream* out) { *out << row.name; }

class AppRefusesTest : public AppTest, public ::testing::WithParamInterface<Wrong> {};

TEST_P(AppRefusesTest, WithTheStatusThatSaysWhy) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  EXPECT_EQ(caller.ask(GetParam().method, GetParam().target).status, GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(Requests, AppRefusesTest,
                         ::testing::Values(Wrong{"NoSuchPath", "GET", "/nothing", 404},
                                           Wrong{"PathBelowAVerb", "POST", "/filter/x", 404},
                                           Wrong{"GetOfAVerb", "GET", "/filter", 405},
                                           Wrong{"PostOfAPage", "POST", "/metrics", 405},
                                           Wrong{"ExplainOfNothing", "GET", "/api/v1/explain", 400},
                                           Wrong{"ExplainWithoutPod", "GET",
                                                 "/api/v1/explain?namespace=ml", 400},
                                           Wrong{"ExplainOfAStranger", "GET",
                                                 "/api/v1/explain?namespace=ml&pod=x", 404}),
                         [](const auto& row) { return row.param.name; });

TEST_F(AppTest, AnswersABodyThatIsNoRequestWithAnError) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  for (const char* verb : {"/filter", "/bind"}) {
    const auto reply = caller.post(verb, "no JSON");
    EXPECT_EQ(reply.status, 200);
    EXPECT_NE(json_at(reply.body, "Error").find("not valid JSON"), std::string::npos) << reply.body;
  }
}

TEST_F(AppTest, RefusesABodyThatIsTooLarge) {
  config::Config config = test_config();
  config.server.max_body_mib = 1;
  const auto app = start_synced(cluster_, config);
  Caller caller(app->port());
  const std::string before = testing::picture_of(*app->ledger().snapshot());
  EXPECT_EQ(caller.post("/filter", std::string((std::size_t{1} << 20U) + 1, ' ')).status, 413);
  EXPECT_EQ(testing::picture_of(*app->ledger().snapshot()), before);
}

TEST_F(AppTest, ExplainsAPodThatWaitsAndOneThatIsBound) {
  const auto app = start_synced(cluster_);
  const std::string uid = cluster_.add_pod("p", "0.5");
  Caller caller(app->port());
  ASSERT_TRUE(eventually([&] { return app->pods().find(uid) != nullptr; }));
  const std::string target = "/api/v1/explain?namespace=ml&pod=p";
  EXPECT_EQ(json_at(caller.get(target).body, "state"), "pending");
  ASSERT_EQ(caller.bind("p", uid, "b"), "");
  ASSERT_TRUE(eventually([&] { return app->pods().find(uid) == nullptr; }));
  const auto bound = caller.get(target);
  EXPECT_EQ(json_at(bound.body, "state"), "bound");
  EXPECT_EQ(json_at(bound.body, "node"), "b");
}

TEST_F(AppTest, ShowsTheClusterAndTheMetrics) {
  const auto app = start_synced(cluster_);
  const std::string uid = cluster_.add_pod("p", "0.25");
  Caller caller(app->port());
  ASSERT_EQ(caller.bind("p", uid, "a"), "");
  const auto cluster = caller.get("/api/v1/cluster");
  EXPECT_EQ(cluster.status, 200);
  EXPECT_NE(cluster.body.find(R"("grantedMilli":250)"), std::string::npos) << cluster.body;
  const auto metrics = caller.get("/metrics");
  EXPECT_EQ(metrics.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const Exposition page(metrics.body);
  EXPECT_EQ(page.value("tangram_nodes"), 2);
  EXPECT_EQ(page.value("tangram_cards"), 4);
  EXPECT_EQ(page.value("tangram_bound_pods"), 1);
  EXPECT_EQ(page.value("tangram_assumed_pods"), 0);
  EXPECT_EQ(page.value("tangram_binds_total{result=\"bound\"}"), 1);
  EXPECT_EQ(page.value("tangram_leader"), 1);
  const Exposition cards(caller.get("/metrics/cards").body);
  EXPECT_EQ(
      cards.value(
          "tangram_card_compute_granted_ratio{node=\"a\",uuid=\"a-0\",model=\"A100\",card=\"0\"}"),
      0.25);
}

TEST_F(AppTest, CountsThePodsThatWaitByWhatItTold) {
  const auto app = start_synced(cluster_);
  const std::string uid = cluster_.add_pod("p", "0.5");
  Caller caller(app->port());
  const auto waiting = [&](const std::string& reason) {
    return Exposition(caller.get("/metrics").body)
        .value("tangram_waiting_pods{reason=\"" + reason + "\"}");
  };
  EXPECT_TRUE(eventually([&] { return waiting("not_asked") == 1; }));
  (void)caller.post("/filter", R"({"Pod":)" + cluster_.read("p") + R"(,"NodeNames":["nowhere"]})");
  EXPECT_EQ(waiting("no_such_card"), 1);
  EXPECT_EQ(waiting("not_asked"), 0);
  ASSERT_EQ(caller.bind("p", uid, "a"), "");
  EXPECT_TRUE(eventually([&] { return waiting("no_such_card") == 0; }));
}

TEST_F(AppTest, TimesTheVerbs) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  (void)caller.post("/filter", "{}");
  (void)caller.bind("p", "u", "a");
  // A reply leaves before it is counted.
  const auto count = [&](const std::string& verb) {
    return Exposition(caller.get("/metrics").body)
        .value("tangram_extender_request_duration_seconds_count{verb=\"" + verb + "\"}");
  };
  EXPECT_TRUE(eventually([&] { return count("filter") == 1 && count("bind") == 1; }));
  EXPECT_EQ(count("prioritize"), 0);
}

TEST_F(AppTest, MeasuresMemoryThatIsStrandedBesideFullCompute) {
  const auto app = start_synced(cluster_);
  testing::PodText pod;
  pod.name = "greedy";
  pod.annotations = {{"tangram.dev/gpu-mem", "20Gi"}, {"tangram.dev/gpu-compute", "1"}};
  const auto made = cluster_.ask(testing::write_request(
      kube::Method::kPost, "/api/v1/namespaces/ml/pods", testing::pod_json(pod)));
  Caller caller(app->port());
  ASSERT_EQ(caller.bind("greedy", json_at(made.body, "metadata.uid"), "a"), "");
  // 80 GiB less 20 GiB.
  EXPECT_EQ(Exposition(caller.get("/metrics").body).value("tangram_stranded_memory_bytes"),
            60.0 * 1'073'741'824);
}

TEST_F(AppTest, FollowsTheClusterAsItChanges) {
  const auto app = start_synced(cluster_);
  cluster_.add_node("late", 1);
  EXPECT_TRUE(eventually([&] { return app->ledger().snapshot()->find("late") != nullptr; }));
  cluster_.server.compact();  // the watch must list again
  cluster_.add_node("later", 1);
  EXPECT_TRUE(eventually([&] { return app->ledger().snapshot()->find("later") != nullptr; }));
}

TEST_F(AppTest, EvictsAPodOfAControllerThatCanNeverStart) {
  const auto app =
      App::create(test_config(), {.api = cluster_.api,
                                  .clock = cluster_.clock,
                                  .replica = std::nullopt,
                                  .reporter = kube::EventReporter{.instance = "test"}});
  ASSERT_TRUE(app.has_value()) << app.error().message;
  for (const std::string owners :
       {"", R"("ownerReferences":[{"kind":"ReplicaSet","name":"r","controller":true}],)"}) {
    cluster_.ask(testing::write_request(
        kube::Method::kPost, "/api/v1/namespaces/ml/pods",
        R"({"metadata":{)" + owners + R"("name":")" + (owners.empty() ? "bare" : "owned") +
            R"(","namespace":"ml"},"spec":{"nodeName":"a","containers":[{"name":"main","image":)"
            R"("i","resources":{"limits":{"tangram.dev/gpu-slot":"1"}}}]}})"));
  }
  const auto deleting = [&](const std::string& pod) {
    return json_at(cluster_.read(pod), "metadata.deletionTimestamp") != "<none>";
  };
  const auto events = [&] {
    return cluster_.ask(testing::get_request("/apis/events.k8s.io/v1/namespaces/ml/events")).body;
  };
  EXPECT_TRUE(eventually([&] {
    cluster_.clock.advance(std::chrono::seconds(1));
    return deleting("owned") && events().find("no controller replaces it") != std::string::npos &&
           events().find("it is evicted") != std::string::npos;
  }));
  EXPECT_FALSE(deleting("bare"));
  Caller caller((*app)->port());
  // An eviction is counted after its answer.
  EXPECT_TRUE(eventually([&] {
    const Exposition metrics(caller.get("/metrics").body);
    return metrics.value("tangram_evictions_total{result=\"evicted\"}") == 1;
  }));
}

TEST_F(AppTest, AnswersOthersWhileABindWaitsForTheApiServer) {
  const auto app = start_synced(cluster_);
  const std::string slow = cluster_.add_pod("slow", "0.5");
  const std::string quick = cluster_.add_pod("quick", "0.5");
  cluster_.api.will(testing::binding_of("slow"), Fault::Kind::kHold);
  auto answer =
      std::async(std::launch::async, [&] { return Caller(app->port()).bind("slow", slow, "a"); });
  cluster_.api.await_held(1);
  Caller caller(app->port());
  EXPECT_EQ(
      json_at(caller.post("/filter", filter_body(cluster_, "quick", R"(["a"])")).body, "NodeNames"),
      R"(["a"])");
  EXPECT_EQ(caller.bind("quick", quick, "a"), "");
  EXPECT_EQ(Exposition(caller.get("/metrics").body).value("tangram_assumed_pods"), 1);
  cluster_.api.release();
  EXPECT_EQ(answer.get(), "");
}

TEST_F(AppTest, RefusesBindsBeyondWhatItsQueueHolds) {
  config::Config config = test_config();
  config.bind.workers = 1;
  config.bind.queue = 0;
  const auto app = start_synced(cluster_, config);
  const std::string slow = cluster_.add_pod("slow", "0.5");
  const std::string other = cluster_.add_pod("other", "0.5");
  cluster_.api.will(testing::binding_of("slow"), Fault::Kind::kHold);
  auto answer =
      std::async(std::launch::async, [&] { return Caller(app->port()).bind("slow", slow, "a"); });
  cluster_.api.await_held(1);
  Caller caller(app->port());
  EXPECT_NE(caller.bind("other", other, "a").find("too many binds"), std::string::npos);
  EXPECT_EQ(cluster_.pod("other").node, "");
  cluster_.api.release();
  EXPECT_EQ(answer.get(), "");
  // The worker is free a moment after its answer has left.
  EXPECT_TRUE(eventually([&] { return caller.bind("other", other, "a").empty(); }));
}

TEST_F(AppTest, CountsTheWaitForAWorkerAsTimeOfTheBind) {
  config::Config config = test_config();
  config.bind.workers = 1;
  config.bind.queue = 1;
  const auto app = start_synced(cluster_, config);
  const auto bind = [&](const std::string& pod) {
    const std::string uid = cluster_.add_pod(pod, "0.2");
    return std::async(std::launch::async,
                      [&app, pod, uid] { return Caller(app->port()).bind(pod, uid, "a"); });
  };
  cluster_.api.will(testing::binding_of("slow"), Fault::Kind::kHold);
  auto slow = bind("slow");
  cluster_.api.await_held(1);
  // Of two more one is refused; the other one waits for the worker then.
  std::array<std::future<std::string>, 2> others{bind("p"), bind("q")};
  const auto done = [](const std::future<std::string>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  ASSERT_TRUE(eventually([&] { return done(others[0]) || done(others[1]); }));
  cluster_.clock.advance(std::chrono::seconds(3));  // of 4
  cluster_.api.release();
  EXPECT_EQ(slow.get(), "");
  for (auto& other : others) other.wait();
  const auto sent = cluster_.api.calls(any_binding());
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_LE(sent[1].timeout, std::chrono::seconds(1));
}

TEST_F(AppTest, AnswersABindThatIsUnderWayBeforeItStops) {
  const auto app = start_synced(cluster_);
  const std::string uid = cluster_.add_pod("p", "0.5");
  cluster_.api.will(any_binding(), Fault::Kind::kHold);
  auto answer =
      std::async(std::launch::async, [&] { return Caller(app->port()).bind("p", uid, "a"); });
  cluster_.api.await_held(1);
  const std::uint16_t port = app->port();
  auto stopped = std::async(std::launch::async, [&] { app->stop(); });
  EXPECT_TRUE(eventually([&] {
    http::Client probe;
    return !probe.connect("127.0.0.1", port).has_value();
  }));
  cluster_.api.release();
  EXPECT_EQ(answer.get(), "");
  stopped.get();
  EXPECT_EQ(cluster_.pod("p").node, "a");
  app->stop();  // safe to repeat
}

TEST_F(AppTest, SaysWhyItCannotStart) {
  const App::Parts parts{.api = cluster_.api, .clock = cluster_.clock, .replica = std::nullopt};
  config::Config config = test_config();
  config.scheduler.policy = "luck";
  const auto no_policy = App::create(config, parts);
  ASSERT_FALSE(no_policy);
  EXPECT_EQ(no_policy.error().code, Errc::kInvalidArgument);
  EXPECT_NE(no_policy.error().message.find("scheduler.policy"), std::string::npos);
  config = test_config();
  config.fragmentation.workload_file = "/nowhere/pods.csv";
  const auto no_file = App::create(config, parts);
  ASSERT_FALSE(no_file);
  EXPECT_NE(no_file.error().message.find("/nowhere/pods.csv"), std::string::npos);
  const auto app = start(cluster_);
  config = test_config();
  config.server.listen.port = app->port();
  const auto taken = App::create(config, parts);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::kUnavailable);
}

TEST_F(AppTest, AimsAtTheWorkloadOfTheFileItIsGiven) {
  const std::string path = ::testing::TempDir() + "tangram_app_test_pods.csv";
  std::ofstream(path) << "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
                         "x,1000,1024,1,1000,\n";
  config::Config config = test_config();
  config.fragmentation.workload_file = path;
  const auto app = start_synced(cluster_, config);
  Caller caller(app->port());
  EXPECT_EQ(Exposition(caller.get("/metrics").body).value("tangram_fragmentation_ratio"), 0);
  const std::string uid = cluster_.add_pod("p", "0.5");
  ASSERT_EQ(caller.bind("p", uid, "a"), "");
  // Whole cards are expected: of 3,500 idle milli the 500 beside p are of no use.
  EXPECT_NEAR(Exposition(caller.get("/metrics").body).value("tangram_fragmentation_ratio"),
              500.0 / 3'500, 1e-6);
}

}  // namespace
}  // namespace tangram::extender
