#include "extender/leadership.hpp"

#include "tests/extender/app_rig.hpp"

#include <gtest/gtest.h>

#include <future>
#include <semaphore>

namespace tangram::extender {
namespace {

using testing::eventually;
using testing::Fault;
using testing::json_at;
using namespace std::chrono_literals;

/// Replicas of the service before one API server, each with a pod of its own. Time stands still
/// unless the test moves it.
class LeadershipTest : public ::testing::Test {
 protected:
  LeadershipTest() {
    cluster_.add_node("a", 1);
    for (const char* name : {"tangram-0", "tangram-1"}) cluster_.add_pod(name, "0.5");
    config_.leader_election.retry_period = 100ms;
    cluster_.ask(testing::write_request(kube::Method::kPost,
                                        "/apis/coordination.k8s.io/v1/namespaces/ml/leases",
                                        R"({"metadata":{"name":"tangram-extender"},"spec":{}})"));
  }

  std::unique_ptr<App> replica(const std::string& pod,
                               std::function<void(http::Router&)> more_routes = nullptr) {
    auto app = App::create(config_, {.api = cluster_.api,
                                     .clock = cluster_.clock,
                                     .replica = Replica{"ml", pod, pod + "-1"},
                                     .random = [] { return 0.0; },
                                     .more_routes = std::move(more_routes)});
    if (!app) throw std::runtime_error(app.error().message);
    return std::move(*app);
  }
  bool labelled(const std::string& pod) {
    return cluster_.read(pod).find(R"("tangram.dev/role":"leader")") != std::string::npos;
  }
  /// Someone else's change of an object.
  void merge(const std::string& path, const std::string& body) {
    auto request = testing::write_request(kube::Method::kPatch, path, body);
    request.content_type = "application/merge-patch+json";
    cluster_.ask(request);
  }
  std::string holder() {
    return json_at(cluster_.ask(testing::get_request(kLease)).body, "spec.holderIdentity");
  }
  static std::string error_of(const App& app) {
    return testing::json_at(Caller(app.port()).post("/filter", "{}").body, "Error");
  }

  static constexpr const char* kLease =
      "/apis/coordination.k8s.io/v1/namespaces/ml/leases/tangram-extender";
  static constexpr const char* kLeads = R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})";
  static constexpr const char* kFirstPod = "/api/v1/namespaces/ml/pods/tangram-0";
  const testing::CallMatch patch_of_first_{kube::Method::kPatch, "/pods/tangram-0"};

  Cluster cluster_;
  config::Config config_ = test_config();
};

TEST_F(LeadershipTest, OneLeadsAndTheOtherIsReadyButSendsCallersOn) {
  const auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving() && labelled("tangram-0"); }));
  const auto second = replica("tangram-1");
  ASSERT_TRUE(eventually([&] { return second->synced(); }));
  EXPECT_FALSE(second->serving());
  EXPECT_EQ(Caller(second->port()).get("/readyz").status, 200);
  EXPECT_NE(error_of(*second).find("does not lead"), std::string::npos);
  EXPECT_EQ(Caller(second->port()).post("/filter", "{}").header("Connection"), "close");
  EXPECT_NE(Caller(first->port()).post("/filter", "{}").header("Connection"), "close");
  EXPECT_FALSE(labelled("tangram-1"));
  EXPECT_NE(Caller(second->port()).get("/metrics").body.find("tangram_leader 0"),
            std::string::npos);
}

TEST_F(LeadershipTest, HandsOverWhenItStops) {
  auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving() && labelled("tangram-0"); }));
  const auto second = replica("tangram-1");
  ASSERT_TRUE(eventually([&] { return second->synced(); }));
  first->stop();
  EXPECT_FALSE(labelled("tangram-0"));
  ASSERT_TRUE(eventually([&] { return second->serving() && labelled("tangram-1"); }));
}

TEST_F(LeadershipTest, TakesTheLabelOffAPodThatCannotDoItItself) {
  merge(kFirstPod, kLeads);
  ASSERT_TRUE(labelled("tangram-0"));
  const auto second = replica("tangram-1");
  EXPECT_TRUE(eventually([&] { return labelled("tangram-1") && !labelled("tangram-0"); }));
}

TEST_F(LeadershipTest, ChangesALabelOnlyOnThePodThatItHasRead) {
  const auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return labelled("tangram-0"); }));
  first->stop();
  const auto patches = cluster_.api.calls(patch_of_first_);
  ASSERT_GE(patches.size(), 2U);
  for (const kube::Request& patch : patches) {
    EXPECT_NE(json_at(patch.body, "metadata.resourceVersion"), "<none>") << patch.body;
  }
}

TEST_F(LeadershipTest, PutsItsLabelOnAgainWhenItRegainsTheLease) {
  const auto app = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return app->serving() && labelled("tangram-0"); }));
  const std::size_t before = cluster_.api.calls(patch_of_first_).size();
  cluster_.api.will({kube::Method::kPut, "/leases/tangram-extender"}, Fault::Kind::kHold);
  cluster_.api.await_held(1);
  cluster_.clock.advance(20s);  // it was suspended while it renewed, and nobody took the Lease
  cluster_.api.release_held();
  ASSERT_TRUE(eventually([&] {
    return cluster_.api.calls(patch_of_first_).size() > before && app->serving() &&
           labelled("tangram-0");
  }));
}

TEST_F(LeadershipTest, LeavesTheLabelToALeaderThatCameLater) {
  merge(kFirstPod, kLeads);
  cluster_.api.will(patch_of_first_, Fault::Kind::kHold);
  const auto second = replica("tangram-1");
  cluster_.api.await_held(1);  // it is about to take the label off
  merge(kLease,
        R"({"spec":{"holderIdentity":"tangram-0-2","renewTime":"2026-01-01T00:00:01.000000Z"}})");
  merge(kFirstPod, R"({"metadata":{"annotations":{"example.com/term":"2"}}})");
  ASSERT_TRUE(eventually([&] { return !second->serving(); }));
  cluster_.api.release_held();
  ASSERT_TRUE(eventually([&] { return !labelled("tangram-1"); }));
  EXPECT_TRUE(labelled("tangram-0"));
}

TEST_F(LeadershipTest, HandsOverWhileARequestIsUnderWay) {
  std::binary_semaphore asked{0};
  std::binary_semaphore answer{0};
  auto first = replica("tangram-0", [&](http::Router& router) {
    router.add("GET", "/slow", [&](const http::Request&, http::Responder responder) {
      asked.release();
      answer.acquire();
      responder.send(http::json_response("{}"));
    });
  });
  ASSERT_TRUE(eventually([&] { return first->serving(); }));
  const auto second = replica("tangram-1");
  ASSERT_TRUE(eventually([&] { return second->synced(); }));
  auto slow = std::async(std::launch::async, [&] { return Caller(first->port()).get("/slow"); });
  asked.acquire();
  auto stopped = std::async(std::launch::async, [&] { first->stop(); });
  EXPECT_TRUE(eventually([&] { return second->serving() && labelled("tangram-1"); }));
  EXPECT_EQ(stopped.wait_for(0s), std::future_status::timeout) << "it still owes an answer";
  answer.release();
  stopped.get();
  EXPECT_EQ(slow.get().status, 200);
}

TEST_F(LeadershipTest, RefusesNewBindsAndKeepsTheLeaseUntilThoseUnderWayAreDone) {
  const auto uid = cluster_.add_pod("p", "0.5");
  const auto other = cluster_.add_pod("q", "0.5");
  const auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving(); }));
  const std::uint16_t port = first->port();
  cluster_.api.will(testing::binding_of("p"), Fault::Kind::kHold);
  auto bound = std::async(std::launch::async, [&] { return Caller(port).bind("p", uid, "a"); });
  cluster_.api.await_held(1);
  auto stopped = std::async(std::launch::async, [&] { first->stop(); });
  ASSERT_TRUE(eventually([&] { return !first->serving(); }));
  EXPECT_NE(Caller(port).bind("q", other, "a").find("is stopping"), std::string::npos);
  EXPECT_NE(Caller(port).post("/filter", "{}").body.find("is stopping"), std::string::npos);
  EXPECT_EQ(holder(), "tangram-0-1");
  cluster_.api.release_held();
  stopped.get();
  EXPECT_EQ(bound.get(), "");
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(cluster_.pod("q").node, "");
}

TEST_F(LeadershipTest, KeepsTheLeaseIfABindMayStillTakeEffect) {
  const auto uid = cluster_.add_pod("p", "0.5");
  const auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving(); }));
  cluster_.api.will(testing::binding_of("p"), Fault::Kind::kLoseBefore);
  EXPECT_NE(Caller(first->port()).bind("p", uid, "a"), "");
  first->stop();
  EXPECT_EQ(holder(), "tangram-0-1");
}

TEST_F(LeadershipTest, BindsNothingThatItsLeaseMightNotOutlive) {
  const auto uid = cluster_.add_pod("p", "0.5");
  const auto app = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return app->serving(); }));
  // The API server is gone for the Lease, but not for binds.
  for (int i = 0; i < 1'000; ++i) {
    cluster_.api.will({kube::Method::kPut, "/leases/tangram-extender"},
                      testing::Fault::Kind::kRefuseBefore);
    cluster_.api.will({kube::Method::kGet, "/leases/tangram-extender"},
                      testing::Fault::Kind::kRefuseBefore);
  }
  cluster_.clock.advance(12s);  // of 15: a bind may take 4
  const std::string error = Caller(app->port()).bind("p", uid, "a");
  EXPECT_NE(error, "");
  EXPECT_TRUE(cluster_.api.calls(testing::binding_of("p")).empty());
}

TEST_F(LeadershipTest, KnowsTheLastBindBeforeItDecides) {
  const auto uid = cluster_.add_pod("p", "0.6");
  auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving(); }));
  const auto second = replica("tangram-1");
  ASSERT_TRUE(eventually([&] { return second->synced(); }));
  EXPECT_EQ(Caller(first->port()).bind("p", uid, "a"), "");
  first->stop();
  ASSERT_TRUE(eventually([&] { return second->serving(); }));
  EXPECT_EQ(second->ledger().snapshot()->find("a")->use.at(0).compute, MilliGpu(600));
}

TEST_F(LeadershipTest, RefusesSettingsThatContradictEachOther) {
  config_.leader_election.renew_deadline = 20'000ms;
  EXPECT_FALSE(App::create(config_, {.api = cluster_.api,
                                     .clock = cluster_.clock,
                                     .replica = Replica{"ml", "", "x"},
                                     .random = [] { return 0.0; }})
                   .has_value());
}

}  // namespace
}  // namespace tangram::extender
