#include "tests/testing/fault_control.hpp"

#include "http/client.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace tangram::testing {
namespace {

constexpr const char* kPods = "/api/v1/pods";

/// Both servers, and a connection to each.
class FaultControlTest : public ::testing::Test {
 protected:
  FaultControlTest() { EXPECT_TRUE(steering.connect("127.0.0.1", desk->port()).has_value()); }

  std::string steer(const char* method, const std::string& path, int status,
                    std::string body = {}) {
    const auto reply = steering.request(method, path, std::move(body));
    EXPECT_TRUE(reply.has_value() && reply->status == status) << path;
    return reply ? reply->body : "";
  }
  /// 0: the connection was refused, or ended without an answer.
  int get(const std::string& path) {
    http::Client client;
    if (!client.connect("127.0.0.1", server->port())) return 0;
    const auto reply = client.request("GET", path);
    return reply ? reply->status : 0;
  }

  ManualClock clock;
  kube::LocalApi local{clock};
  FaultApi faults{local};
  std::unique_ptr<ApiServer> server = *ApiServer::start(faults);
  FaultControl control{faults, *server};
  std::unique_ptr<ApiServer> desk = *ApiServer::start(control);
  http::Client steering;
};

TEST_F(FaultControlTest, ChangesThePlanAndCountsHits) {
  steer("PUT", "/_faults", 200,
        "rules: [{path-ends: /pods, fault: answer, status: 503, times: 1}]");
  EXPECT_EQ(get(kPods), 503);
  EXPECT_EQ(get(kPods), 200);
  const std::string plan = steer("GET", "/_faults", 200);
  EXPECT_NE(plan.find(R"("hits":1)"), std::string::npos) << plan;
  steer("PUT", "/_faults", 200, R"({"rules":[{"fault":"lose-before"}]})");
  EXPECT_EQ(get(kPods), 0);
  steer("PUT", "/_faults", 200, "");
  EXPECT_EQ(get(kPods), 200);
}

TEST_F(FaultControlTest, KeepsThePlanWhenANewOneIsWrong) {
  steer("PUT", "/_faults", 200, "rules: [{fault: answer, status: 503}]");
  const std::string why = steer("PUT", "/_faults", 400, "rules: [{fault: explode}]");
  EXPECT_NE(why.find("write one of"), std::string::npos) << why;
  EXPECT_EQ(get(kPods), 503);
}

TEST_F(FaultControlTest, PausesAndResumesTheOtherServerAlone) {
  steer("POST", "/_faults/pause", 200);
  EXPECT_EQ(get(kPods), 0);
  steer("POST", "/_faults/resume", 200);
  EXPECT_EQ(get(kPods), 200);
}

TEST_F(FaultControlTest, CutsWatchesAndConnections) {
  for (const char* action : {"/_faults/cut-watches", "/_faults/drop-connections"}) {
    http::Client client;
    ASSERT_TRUE(client.connect("127.0.0.1", server->port()).has_value());
    const auto sent = client.send("GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: api\r\n\r\n");
    ASSERT_TRUE(sent.has_value());
    ASSERT_TRUE(eventually([&] { return server->watches() == 1; }));
    steer("POST", action, 200);
    EXPECT_FALSE(client.receive().has_value()) << action;
    ASSERT_TRUE(eventually([&] { return server->connections() == 0; }));
  }
}

TEST_F(FaultControlTest, ReleasesWhatIsHeld) {
  steer("PUT", "/_faults", 200, "rules: [{fault: hold, times: 1}]");
  int status = 0;
  std::jthread caller([&] { status = get(kPods); });
  faults.await_held(1);
  steer("POST", "/_faults/release", 200);
  caller.join();
  EXPECT_EQ(status, 200);
}

TEST_F(FaultControlTest, NamesWhatItKnows) {
  EXPECT_NE(steer("POST", "/_faults/explode", 404).find("/_faults/pause"), std::string::npos);
  steer("DELETE", "/_faults", 404);
  steer("GET", "/api/v1/pods", 404);
  EXPECT_EQ(get("/_faults"), 404) << "the server itself knows nothing of it";
}

}  // namespace
}  // namespace tangram::testing
