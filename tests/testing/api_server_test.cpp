#include "tests/testing/api_server.hpp"

#include "http/client.hpp"
#include "kube/local/api.hpp"
#include "tests/testing/api_connection.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/fault_api.hpp"
#include "tests/testing/kube_builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace tangram::testing {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kPods = "/api/v1/namespaces/ml/pods";

/// A watch as a client sees it, read line by line. A server that says nothing fails the test
/// after a while.
class OpenWatch {
 public:
  OpenWatch(std::uint16_t port, const std::string& target) {
    stream_.expires_after(std::chrono::seconds(30));
    stream_.connect("127.0.0.1", std::to_string(port));
    stream_ << "GET " << target << " HTTP/1.1\r\nHost: api\r\n\r\n" << std::flush;
    status_ = line();
    while (!line().empty()) continue;
  }
  [[nodiscard]] const std::string& status() const { return status_; }
  /// "ADDED train-0"; "end" for the last chunk, "cut" for an end without one.
  std::string next() {
    const std::string size = line();
    if (size == "0") return "end";
    if (size.empty()) return "cut";
    const std::string frame = line();
    EXPECT_EQ(line(), "") << "a chunk is one line";
    return json_at(frame, "type") + " " + json_at(frame, "object.metadata.name");
  }

 private:
  std::string line() {
    std::string text;
    std::getline(stream_, text);
    if (!text.empty() && text.back() == '\r') text.pop_back();
    return text;
  }
  boost::asio::ip::tcp::iostream stream_;
  std::string status_;
};

class ApiServerTest : public ::testing::Test {
 protected:
  ApiServerTest() {
    EXPECT_TRUE(client.connect("127.0.0.1", server->port()).has_value());
    create("train-0");
  }
  void create(const std::string& name) {
    const auto made =
        local.call(write_request(kube::Method::kPost, kPods, pod_json({.name = name})));
    ASSERT_EQ(made->status, 201) << made->body;
  }
  /// 0: no answer, or no connection.
  int send(const char* method, const std::string& target, std::string body = {}) {
    if (!connected) connected = client.connect("127.0.0.1", server->port()).has_value();
    const auto reply = client.request(method, target, std::move(body));
    connected = reply.has_value();
    return reply ? reply->status : 0;
  }
  std::string watch_from_now() {
    const auto list = local.call(get_request(kPods));
    return std::string(kPods) +
           "?watch=true&resourceVersion=" + json_at(list->body, "metadata.resourceVersion");
  }

  ManualClock clock;
  kube::LocalApi local{clock};
  FaultApi api{local};
  std::unique_ptr<ApiServer> server = *ApiServer::start(api);
  http::Client client;
  bool connected = true;
};

TEST_F(ApiServerTest, AnswersAsItsApiDoesOnOneConnection) {
  const auto read = client.request("GET", std::string(kPods) + "/train-0");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->status, 200);
  EXPECT_EQ(read->header("Content-Type"), "application/json");
  EXPECT_EQ(read->body, local.call(get_request(std::string(kPods) + "/train-0"))->body);
  EXPECT_EQ(send("POST", kPods, pod_json({.name = "b"})), 201);
  EXPECT_EQ(send("GET", std::string(kPods) + "/nobody"), 404);
  const auto selected = client.request(
      "GET", std::string(kPods) + "?fieldSelector=metadata.name%3Db%2Cspec.nodeName%21%3Dn1");
  EXPECT_NE(selected->body.find(R"("name":"b")"), std::string::npos) << selected->body;
  const auto patched =
      client.request("PATCH", std::string(kPods) + "/b", R"({"metadata":{"labels":{"x":"1"}}})",
                     "application/merge-patch+json");
  EXPECT_EQ(patched->status, 200) << patched->body;
  EXPECT_EQ(server->connections(), 1U);
}

TEST_F(ApiServerTest, PassesOnPlainTextAndRetryAfter) {
  api.will_answer({kube::Method::kGet, "/pods"}, 429);
  const auto busy = client.request("GET", kPods);
  EXPECT_EQ(busy->status, 429);
  EXPECT_EQ(busy->header("Retry-After"), "1");
  EXPECT_TRUE(busy->header("Content-Type").starts_with("text/plain"));
}

TEST_F(ApiServerTest, LostAnswerEndsTheConnectionAfterTheDeed) {
  api.will({kube::Method::kPost, "/pods"}, Fault::Kind::kLoseAnswer);
  EXPECT_EQ(send("POST", kPods, pod_json({.name = "b"})), 0);
  EXPECT_EQ(send("GET", std::string(kPods) + "/b"), 200);
}

TEST_F(ApiServerTest, LostRequestEndsTheConnectionBeforeTheDeed) {
  api.will({kube::Method::kPost, "/pods"}, Fault::Kind::kLoseBefore);
  EXPECT_EQ(send("POST", kPods, pod_json({.name = "b"})), 0);
  EXPECT_EQ(send("GET", std::string(kPods) + "/b"), 404);
}

TEST_F(ApiServerTest, StreamsAWatchFrameByFrame) {
  OpenWatch watch(server->port(), std::string(kPods) + "?watch=1");
  EXPECT_EQ(watch.status(), "HTTP/1.1 200 OK");
  EXPECT_EQ(watch.next(), "ADDED train-0");
  create("b");
  EXPECT_EQ(watch.next(), "ADDED b");
}

TEST_F(ApiServerTest, OpensAWatchThatHasNothingToSay) {
  OpenWatch watch(server->port(), watch_from_now());
  EXPECT_EQ(watch.status(), "HTTP/1.1 200 OK");
  create("b");
  EXPECT_EQ(watch.next(), "ADDED b");
}

TEST_F(ApiServerTest, EndsAWatchWithItsTimeout) {
  OpenWatch watch(server->port(), watch_from_now() + "&timeoutSeconds=1");
  EXPECT_EQ(watch.next(), "end");
}

TEST_F(ApiServerTest, RefusesAWatchInOneAnswer) {
  const auto refused = client.request("GET", std::string(kPods) + "?watch=1&fieldSelector=a%3Db");
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->status, 400);
  EXPECT_EQ(json_at(refused->body, "kind"), "Status");
}

// As by a server without streaming lists that is slow to say so.
TEST_F(ApiServerTest, RefusesALateStreamOfAListInOneAnswer) {
  api.will({.watch = true}, {.kind = Fault::Kind::kDelay, .delay = std::chrono::milliseconds(300)});
  // Without resourceVersionMatch, which makes it invalid.
  const auto refused =
      client.request("GET", std::string(kPods) + "?watch=1&sendInitialEvents=true");
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->status, 422);
  EXPECT_EQ(json_at(refused->body, "kind"), "Status");
}

TEST_F(ApiServerTest, CutsAWatchWithoutALastChunk) {
  api.will({.watch = true}, {.kind = Fault::Kind::kCutWatch, .frames = 1});
  OpenWatch watch(server->port(), std::string(kPods) + "?watch=1");
  EXPECT_EQ(watch.next(), "ADDED train-0");
  EXPECT_EQ(watch.next(), "cut");
}

TEST_F(ApiServerTest, CutsOpenWatchesAndNothingElse) {
  OpenWatch watch(server->port(), std::string(kPods) + "?watch=1");
  ASSERT_EQ(send("GET", kPods), 200);
  EXPECT_EQ(watch.next(), "ADDED train-0");
  EXPECT_EQ(server->watches(), 1U);
  server->cut_watches();
  EXPECT_EQ(watch.next(), "cut");
  ASSERT_TRUE(eventually([&] { return server->connections() == 1; }));
  EXPECT_EQ(server->watches(), 0U);
}

TEST_F(ApiServerTest, EndsTheWatchOfAClientThatLeft) {
  {
    OpenWatch watch(server->port(), watch_from_now());
    EXPECT_EQ(server->watches(), 1U);
  }
  EXPECT_TRUE(eventually([&] { return server->watches() == 0; }));
}

TEST_F(ApiServerTest, DropsConnectionsAndTakesNewOnes) {
  ASSERT_EQ(send("GET", kPods), 200);
  OpenWatch watch(server->port(), watch_from_now());
  server->drop_connections();
  EXPECT_EQ(watch.next(), "cut");
  EXPECT_TRUE(client.wait_for_close().has_value());
  connected = false;
  EXPECT_EQ(send("GET", kPods), 200);
}

TEST_F(ApiServerTest, PausedServerRefusesConnectionsUntilItResumes) {
  ASSERT_EQ(send("GET", kPods), 200);
  for (int round = 0; round < 3; ++round) {
    server->pause();
    EXPECT_TRUE(client.wait_for_close().has_value());
    EXPECT_FALSE(client.connect("127.0.0.1", server->port()).has_value());
    connected = false;
    ASSERT_TRUE(server->resume().has_value());
    EXPECT_EQ(send("GET", kPods), 200);
  }
}

TEST_F(ApiServerTest, StopEndsEverything) {
  ASSERT_EQ(send("GET", kPods), 200);
  OpenWatch watch(server->port(), watch_from_now());
  server->stop();
  EXPECT_EQ(watch.next(), "cut");
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_FALSE(client.connect("127.0.0.1", server->port()).has_value());
}

TEST_F(ApiServerTest, AsksForTheToken) {
  server->require_token("sesame");
  for (const auto& [bearer, status] :
       {std::pair{"Bearer other", 401}, std::pair{"", 401}, std::pair{"Bearer sesame", 200}}) {
    const auto reply = client.request("GET", kPods, "", "", {{"Authorization", bearer}});
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->status, status) << bearer;
  }
}

TEST_F(ApiServerTest, CarriesTwoHundredWatches) {
  std::deque<OpenWatch> watches;
  const std::string target = std::string(kPods) + "?watch=1";
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(watches.emplace_back(server->port(), target).next(), "ADDED train-0");
  }
  EXPECT_EQ(server->watches(), 200U);
  create("b");
  for (auto& watch : watches) ASSERT_EQ(watch.next(), "ADDED b");
  server->stop();
  for (auto& watch : watches) ASSERT_EQ(watch.next(), "cut");
}

TEST(ReadRequestTest, KeepsThePathEncodedAndDecodesTheQuery) {
  const auto request =
      read_request("GET", "/api/v1/nodes/a%2Fb?fieldSelector=x%3Dy%2Cz&empty=&f+g");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "/api/v1/nodes/a%2Fb");
  EXPECT_EQ(request->query, (std::map<std::string, std::string>{
                                {"fieldSelector", "x=y,z"}, {"empty", ""}, {"f g", ""}}));
  EXPECT_EQ(read_request("DELETE", "/x")->method, kube::Method::kDelete);
}

TEST(ReadRequestTest, RefusesWhatItCannotRead) {
  EXPECT_FALSE(read_request("HEAD", "/x").has_value());
  EXPECT_FALSE(read_request("GET", "x").has_value());
  EXPECT_FALSE(read_request("GET", "/x?a=%2").has_value());
}

}  // namespace
}  // namespace tangram::testing
