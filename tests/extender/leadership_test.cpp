#include "extender/leadership.hpp"

#include "tests/extender/app_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

/// Replicas of the service before one API server, each with a pod of its own. Time stands still
/// unless the test moves it.
class LeadershipTest : public ::testing::Test {
 protected:
  LeadershipTest() {
    cluster_.add_node("a", 1);
    for (const char* name : {"tangram-0", "tangram-1"}) cluster_.add_pod(name, "0.5");
    config_.leader_election.retry_period = 100ms;
  }

  std::unique_ptr<App> replica(const std::string& pod, const std::string& life = "1") {
    auto app = App::create(config_, {.api = cluster_.api,
                                     .clock = cluster_.clock,
                                     .replica = Replica{"ml", pod, pod + "-" + life},
                                     .random = [] { return 0.0; }});
    if (!app) throw std::runtime_error(app.error().message);
    return std::move(*app);
  }
  bool labelled(const std::string& pod) {
    return cluster_.read(pod).find(R"("tangram.dev/role":"leader")") != std::string::npos;
  }
  static std::string error_of(const App& app) {
    return testing::json_at(Caller(app.port()).post("/filter", "{}").body, "Error");
  }

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
  cluster_.ask([] {
    auto request =
        testing::write_request(kube::Method::kPatch, "/api/v1/namespaces/ml/pods/tangram-0",
                               R"({"metadata":{"labels":{"tangram.dev/role":"leader"}}})");
    request.content_type = "application/merge-patch+json";
    return request;
  }());
  ASSERT_TRUE(labelled("tangram-0"));
  const auto second = replica("tangram-1");
  EXPECT_TRUE(eventually([&] { return labelled("tangram-1") && !labelled("tangram-0"); }));
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

TEST_F(LeadershipTest, ReadsTheClusterAnewBeforeItDecides) {
  auto first = replica("tangram-0");
  ASSERT_TRUE(eventually([&] { return first->serving(); }));
  const auto second = replica("tangram-1");
  ASSERT_TRUE(eventually([&] { return second->synced(); }));
  const auto lists = [&] {
    return cluster_.api.calls({kube::Method::kGet, "/api/v1/pods"}).size();
  };
  const auto before = lists();
  first->stop();
  ASSERT_TRUE(eventually([&] { return second->serving(); }));
  EXPECT_GT(lists(), before);
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
