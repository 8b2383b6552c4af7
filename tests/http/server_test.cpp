#include "http/server.hpp"

#include "tests/http/fixture.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <vector>

namespace tangram::http {
namespace {

TEST(HttpServerTest, HandsTheWholeRequestOverDecoded) {
  Request seen;
  const auto server = serve([&](Request request, Responder responder) {
    seen = std::move(request);
    responder.send(json_response("{}"));
  });
  auto client = client_of(*server);
  const auto reply = reply_of(client.request("POST", "/a%20b?pod=x%2Fy&empty&pod=z", "{\"a\":1}",
                                             "application/json", {{"X-Trace", "7"}}));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "{}");
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path, "/a b");
  EXPECT_EQ(seen.query.at("pod"), "x/y");
  EXPECT_EQ(seen.query.at("empty"), "");
  EXPECT_EQ(seen.header("x-trace"), "7");
  EXPECT_EQ(seen.header("absent"), "");
  EXPECT_EQ(seen.body, "{\"a\":1}");
  EXPECT_EQ(seen.origin, "127.0.0.1");
  EXPECT_EQ(seen.address, "127.0.0.1");
}

TEST(HttpServerTest, KeepsTheConnectionForFurtherRequests) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/1")).body, "GET /1|");
  EXPECT_EQ(reply_of(client.request("POST", "/2", "x")).body, "POST /2|x");
  const Counters counters = server->counters();
  EXPECT_EQ(counters.accepted, 1U);
  EXPECT_EQ(counters.open, 1U);
  EXPECT_EQ(counters.requests, 2U);
  EXPECT_EQ(counters.rejected, 0U);
}

TEST(HttpServerTest, ReadsARequestThatComesByteByByte) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  for (const char byte :
       std::string("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")) {
    ASSERT_TRUE(client.send(std::string(1, byte)));
  }
  EXPECT_EQ(reply_of(client.receive()).body, "POST /x|abc");
}

TEST(HttpServerTest, ReadsAChunkedBody) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  ASSERT_TRUE(
      client.send("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_EQ(reply_of(client.receive()).body, "POST /x|abcde");
}

TEST(HttpServerTest, AnswersPipelinedRequestsInOrderThoughTheFirstTakesLonger) {
  std::promise<Responder> slow;
  const auto server = serve([&](Request request, Responder responder) {
    if (request.path == "/slow") return slow.set_value(std::move(responder));
    echo(request, std::move(responder));
  });
  auto client = client_of(*server);
  ASSERT_TRUE(
      client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n"));
  slow.get_future().get().send(text_response(200, "slow"));
  EXPECT_EQ(reply_of(client.receive()).body, "slow\n");
  EXPECT_EQ(reply_of(client.receive()).body, "GET /fast|");
}

TEST(HttpServerTest, AnswersHeadWithTheLengthOfTheBodyButNoBody) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  const auto head = reply_of(client.request("HEAD", "/x"));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), std::to_string(std::string("HEAD /x|").size()));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(reply_of(client.request("GET", "/y")).body, "GET /y|");  // nothing is left over
}

TEST(HttpServerTest, SendsContinueToAClientThatWaitsForIt) {
  const auto server = serve(echo);
  auto client = client_of(*server);
  ASSERT_TRUE(client.send(
      "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(reply_of(client.receive()).status, 100);
  ASSERT_TRUE(client.send("abc"));
  EXPECT_EQ(reply_of(client.receive()).body, "POST /x|abc");
}

TEST(HttpServerTest, AnswersAResponseWithoutABody) {
  const auto server = serve([](const Request&, Responder responder) {
    Response response;
    response.status = 204;
    response.content_type = "";
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 204);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 204);
  EXPECT_EQ(server->counters().accepted, 1U);
}

struct KeepAliveCase {
  std::string name;
  std::string head;  // request line and fields
  bool close_by_handler = false;
  bool want_open = false;

  friend void PrintTo(const KeepAliveCase& c, std::ostream* out) { *out << c.name; }
};

class HttpKeepAliveTest : public ::testing::TestWithParam<KeepAliveCase> {};

TEST_P(HttpKeepAliveTest, EndsTheConnectionWhenAsked) {
  const KeepAliveCase& c = GetParam();
  const auto server = serve([&](const Request&, Responder responder) {
    Response response = text_response(200, "yes");
    response.close = c.close_by_handler;
    responder.send(std::move(response));
  });
  auto client = client_of(*server);
  ASSERT_TRUE(client.send(c.head + "\r\n"));
  EXPECT_EQ(reply_of(client.receive()).body, "yes\n");
  if (c.want_open) {
    ASSERT_TRUE(client.send(c.head + "\r\n"));
    EXPECT_EQ(reply_of(client.receive()).body, "yes\n");
    EXPECT_EQ(server->counters().accepted, 1U);
  } else {
    EXPECT_TRUE(client.wait_for_close());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, HttpKeepAliveTest,
    ::testing::ValuesIn(std::vector<KeepAliveCase>{
        {.name = "Http11Stays", .head = "GET / HTTP/1.1\r\nHost: h\r\n", .want_open = true},
        {.name = "Http11CloseEnds", .head = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"},
        {.name = "Http10Ends", .head = "GET / HTTP/1.0\r\n"},
        {.name = "Http10KeepAliveStays",
         .head = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n",
         .want_open = true},
        {.name = "HandlerEnds", .head = "GET / HTTP/1.1\r\nHost: h\r\n", .close_by_handler = true},
    }),
    [](const auto& test) { return test.param.name; });

TEST(HttpServerTest, RefusesAPortThatIsTaken) {
  const auto server = serve(echo);
  auto options = local_options();
  options.port = server->port();
  const auto second = Server::create(options, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kUnavailable);
  EXPECT_NE(second.error().message.find(std::to_string(server->port())), std::string::npos);
  EXPECT_EQ(reply_of(client_of(*server).request("GET", "/")).status, 200);
}

struct OptionsCase {
  std::string name;
  std::function<void(Options&)> spoil;
  std::string want;  // in the message

  friend void PrintTo(const OptionsCase& c, std::ostream* out) { *out << c.name; }
};

class HttpOptionsTest : public ::testing::TestWithParam<OptionsCase> {};

TEST_P(HttpOptionsTest, RefusesWhatCannotBeServed) {
  auto options = local_options();
  GetParam().spoil(options);
  const auto server = Server::create(options, echo);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Errc::kInvalidArgument);
  EXPECT_NE(server.error().message.find(GetParam().want), std::string::npos)
      << server.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, HttpOptionsTest,
    ::testing::ValuesIn(std::vector<OptionsCase>{
        {"Address", [](auto& o) { o.address = "here"; }, "write one such as"},
        {"Threads", [](auto& o) { o.threads = 0; }, "threads"},
        {"Connections", [](auto& o) { o.max_connections = 0; }, "max_connections"},
        {"Body", [](auto& o) { o.max_body_bytes = 0; }, "max_body_bytes"},
        {"Bodies", [](auto& o) { o.max_bodies_bytes = 2 * o.max_body_bytes - 1; },
         "max_bodies_bytes"},
        {"HeaderSmall", [](auto& o) { o.max_header_bytes = 10; }, "max_header_bytes"},
        {"HeaderLarge", [](auto& o) { o.max_header_bytes = 1 << 20; }, "max_header_bytes"},
        {"Idle", [](auto& o) { o.idle_timeout = {}; }, "idle_timeout"},
        {"Request", [](auto& o) { o.request_timeout = {}; }, "request_timeout"},
        {"Handshake", [](auto& o) { o.handshake_timeout = {}; }, "handshake_timeout"},
        {"Rate", [](auto& o) { o.connects_per_second = -1; }, "connects_per_second"},
        {"Burst", [](auto& o) { o.connects_per_second = 1; }, "connects_burst"},
        {"Drain", [](auto& o) { o.drain_timeout = -o.drain_timeout; }, "drain_timeout"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::http
