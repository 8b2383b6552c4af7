// Answers that go on for as long as there is news, over a real connection.

#include "extender/page/broadcast.hpp"
#include "http/server.hpp"
#include "tests/http/fixture.hpp"
#include "tests/http/line_tap.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using testing::eventually;

class HttpLiveTest : public ::testing::Test {
 protected:
  http::Options options() const {
    auto all = http::local_options();
    all.request_timeout = std::chrono::milliseconds(300);
    return all;
  }
  std::unique_ptr<http::Server> start(http::Options with) {
    return http::serve(
        [this](const http::Request& request, http::Responder responder) {
          if (request.path != "/news") return responder.send(http::text_response(200, "other"));
          http::Response response;
          response.content_type = "text/event-stream";
          response.stream = cast_.open(std::nullopt);
          responder.send(std::move(response));
        },
        std::move(with));
  }

  testing::ManualClock clock_;
  Broadcast cast_{1, clock_};
  std::unique_ptr<http::Server> server_ = start(options());
};

TEST_F(HttpLiveTest, SendsEachPieceWhenItIsThere) {
  http::LineTap tap(server_->port());
  tap.get("/news");
  const std::string head = tap.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos) << head;
  tap.read_until("event: hello");
  cast_.publish("change", "one");
  tap.read_until("data: one\n\n");
  cast_.publish("change", "two");
  tap.read_until("data: two\n\n");
}

TEST_F(HttpLiveTest, OutlastsEveryTimeoutOfARequest) {
  auto brief = options();
  brief.request_timeout = brief.idle_timeout = std::chrono::milliseconds(500);
  const auto server = start(brief);
  http::LineTap tap(server->port());
  tap.get("/news");
  tap.read_until("event: hello");
  // Another connection is closed for idling: at least as much time has passed.
  http::LineTap other(server->port());
  EXPECT_EQ(other.read_to_end(), "");
  cast_.publish("change", "late");
  tap.read_until("data: late\n\n");
}

TEST_F(HttpLiveTest, EndsAStreamWhoseClientHasGone) {
  {
    http::LineTap tap(server_->port());
    tap.get("/news");
    tap.read_until("event: hello");
    EXPECT_EQ(cast_.counts().streams, 1U);
  }
  EXPECT_TRUE(eventually([&] {
    cast_.beat();
    return cast_.counts().streams == 0;
  }));
}

TEST_F(HttpLiveTest, CutsAClientThatReadsNothing) {
  http::LineTap tap(server_->port());
  tap.get("/news");
  tap.read_until("event: hello");
  // More than the sockets' buffers take: the write of a piece does not end, and its time does.
  EXPECT_TRUE(eventually([&] {
    cast_.publish("change", std::string(1'000'000, 'x'));
    return cast_.counts().streams == 0;
  }));
}

TEST_F(HttpLiveTest, EndsTheBodyAndKeepsTheConnectionWhenTheStreamEnds) {
  http::LineTap tap(server_->port());
  tap.get("/news");
  tap.read_until("event: hello");
  cast_.close();
  tap.read_until("\r\n0\r\n\r\n");
  tap.get("/other");
  tap.read_until("other\n");
}

TEST_F(HttpLiveTest, EndsStreamsWhenTheServerStops) {
  http::LineTap tap(server_->port());
  tap.get("/news");
  tap.read_until("event: hello");
  const auto begin = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, http::local_options().drain_timeout / 2);
  EXPECT_NE(tap.read_to_end().find("\r\n0\r\n\r\n"), std::string::npos);
  EXPECT_EQ(cast_.counts().streams, 0U);
}

TEST_F(HttpLiveTest, SendsAHeadWithoutAStream) {
  http::LineTap tap(server_->port());
  tap.send("HEAD /news HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string head = tap.read_until("\r\n\r\n");
  EXPECT_NE(head.find("text/event-stream"), std::string::npos) << head;
  EXPECT_TRUE(eventually([&] { return cast_.counts().streams == 0; }));
  tap.get("/other");
  tap.read_until("other\n");
}

TEST_F(HttpLiveTest, ServesClientsThatKnowNoChunks) {
  http::LineTap tap(server_->port());
  tap.send("GET /news HTTP/1.0\r\n\r\n");
  const std::string head = tap.read_until("\r\n\r\n");
  EXPECT_EQ(head.find("chunked"), std::string::npos) << head;
  tap.read_until("resumed\":false}\n\n");
  cast_.publish("change", "one");
  EXPECT_EQ(tap.read_until("one\n\n").substr(0, 3), "id:");
  cast_.close();
  EXPECT_EQ(tap.read_to_end(), "");
}

TEST_F(HttpLiveTest, ServesOthersOnTheSameThread) {
  auto narrow = options();
  narrow.threads = 1;
  const auto server = start(narrow);
  http::LineTap tap(server->port());
  tap.get("/news");
  tap.read_until("event: hello");
  auto client = http::client_of(*server);
  EXPECT_EQ(http::reply_of(client.request("GET", "/other")).status, 200);
}

}  // namespace
}  // namespace tangram::extender
