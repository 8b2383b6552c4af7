// The packing page and what it reads, from the whole service.

#include "tests/extender/app_rig.hpp"
#include "tests/http/line_tap.hpp"
#include "tests/testing/exposition.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::json_at;

class AppPageTest : public ::testing::Test {
 protected:
  AppPageTest() { cluster_.add_node("a", 2); }

  Cluster cluster_;
};

TEST_F(AppPageTest, ServesThePage) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  const auto page = caller.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(page.header("Content-Security-Policy"), "");
  EXPECT_EQ(caller.get("/page/main.js").status, 200);
  EXPECT_EQ(caller.get("/page/none.js").status, 404);
  EXPECT_EQ(caller.post("/", "").status, 405);
}

TEST_F(AppPageTest, TellsWhoFollowsThatAPodIsBoundAndThatItEnds) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  const std::string event = json_at(caller.get("/api/v1/packing").body, "event");
  http::LineTap tap(app->port());
  tap.get("/api/v1/events?after=" + event);
  tap.read_until("{\"resumed\":true}");
  const std::string uid = cluster_.add_pod("p", "0.5");
  tap.read_until("\"waiting\":[{\"namespace\":\"ml\",\"name\":\"p\"");
  ASSERT_EQ(caller.bind("p", uid, "a"), "");
  tap.read_until("\"partial\":true");
  tap.read_until("\"pods\":[{\"namespace\":\"ml\",\"name\":\"p\"");
  EXPECT_EQ(testing::Exposition(caller.get("/metrics").body).value("tangram_event_streams"), 1);
  auto ended = testing::write_request(kube::Method::kDelete, "/api/v1/namespaces/ml/pods/p", "");
  ended.query = {{"gracePeriodSeconds", "0"}};
  cluster_.ask(ended);
  tap.read_until("\"grantedMilli\":0");
}

TEST_F(AppPageTest, TellsWhoFollowedAnotherLifeOfItToReadAnew) {
  std::string event;
  {
    const auto app = start_synced(cluster_);
    event = json_at(Caller(app->port()).get("/api/v1/packing").body, "event");
  }
  cluster_.clock.advance(std::chrono::seconds(1));
  const auto app = start_synced(cluster_);
  http::LineTap tap(app->port());
  tap.get("/api/v1/events", "Last-Event-ID: " + event + "\r\n");
  tap.read_until("{\"resumed\":false}");
}

TEST_F(AppPageTest, StopsWhilePagesFollowIt) {
  const auto app = start_synced(cluster_);
  http::LineTap tap(app->port());
  tap.get("/api/v1/events");
  tap.read_until("event: hello");
  app->stop();
  EXPECT_NE(tap.read_to_end().find("\r\n0\r\n\r\n"), std::string::npos);
}

TEST_F(AppPageTest, ExplainsInAsManyNodesAsAskedFor) {
  cluster_.add_node("b", 1);
  const auto app = start_synced(cluster_);
  cluster_.add_pod("p", "0.5");
  Caller caller(app->port());
  const std::string target = "/api/v1/explain?namespace=ml&pod=p";
  ASSERT_TRUE(testing::eventually([&] { return caller.get(target).status == 200; }));
  EXPECT_NE(caller.get(target).body.find("\"name\":\"b\""), std::string::npos);
  const std::string none = caller.get(target + "&nodes=0").body;
  EXPECT_NE(none.find("\"nodes\":[]"), std::string::npos) << none;
  EXPECT_EQ(json_at(none, "fittingNodes"), "2");
  EXPECT_EQ(caller.get(target + "&nodes=-1").status, 400);
  EXPECT_EQ(caller.get(target + "&nodes=").status, 400);
}

}  // namespace
}  // namespace tangram::extender
