#include "http/server.hpp"
#include "tests/http/fixture.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

// Here a timeout is the subject: short ones are set, and the end of a connection is waited for.
namespace tangram::http {
namespace {

constexpr std::chrono::milliseconds kShort{40};

Options with_idle(std::chrono::milliseconds time) {
  auto options = local_options();
  options.idle_timeout = time;
  return options;
}

Options with_request(std::chrono::milliseconds time) {
  auto options = local_options();
  options.request_timeout = time;
  return options;
}

TEST(HttpTimeoutTest, ClosesAnIdleConnection) {
  const auto server = serve(echo, with_idle(kShort));
  auto fresh = client_of(*server);
  EXPECT_TRUE(fresh.wait_for_close());
  auto used = client_of(*server);
  while (reply_of(used.request("GET", "/")).status != 200)
    used = client_of(*server);  // was too late
  EXPECT_TRUE(used.wait_for_close());
}

TEST(HttpTimeoutTest, KeepsIdleConnectionsLongerThanGosClientByDefault) {
  EXPECT_GT(Options{}.idle_timeout, std::chrono::seconds(90));
}

struct SlowCase {
  std::string name;
  std::string bytes;  // a request that never goes on

  friend void PrintTo(const SlowCase& c, std::ostream* out) { *out << c.name; }
};

class HttpSlowClientTest : public ::testing::TestWithParam<SlowCase> {};

TEST_P(HttpSlowClientTest, IsClosedWithoutAnAnswer) {
  const auto server = serve(echo, with_request(kShort));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send(GetParam().bytes));
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_EQ(server->counters().requests, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Table, HttpSlowClientTest,
    ::testing::ValuesIn(std::vector<SlowCase>{
        {"FirstByte", "G"},
        {"Header", "GET / HTTP/1.1\r\nHos"},
        {"Body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n12345678"},
        {"Chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n12345678"},
    }),
    [](const auto& test) { return test.param.name; });

/// Sends a byte whenever it can: every one comes in time, the whole never does.
TEST(HttpTimeoutTest, ClosesAClientThatTricklesForEver) {
  const auto server = serve(echo, with_request(kShort));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: h\r\nX: "));
  bool open = true;
  for (std::size_t sent = 0; open; ++sent) {
    auto probe = client_of(*server);  // a round trip between two bytes keeps below the header limit
    reply_of(probe.request("GET", "/"));
    open = sent < 16'000 && client.send("x").has_value();
  }
  const auto reply = client.receive();
  EXPECT_FALSE(reply) << "answered " << reply_of(reply).status;
}

/// Tells when the last copy of it is gone.
struct GoneSignal {
  std::shared_ptr<std::promise<void>> destroyed = std::make_shared<std::promise<void>>();
  std::shared_ptr<void> owner{nullptr, [destroyed = destroyed](void*) { destroyed->set_value(); }};
};

TEST(HttpTimeoutTest, GivesUpOnAClientThatDoesNotReadAStream) {
  GoneSignal gone;
  auto ended = gone.destroyed->get_future();
  const auto server = serve(
      [&](const Request&, Responder responder) {
        Response endless;
        endless.producer = [owner = std::move(gone.owner)](std::string& out) {
          out.append(65'536, 'x');
          return true;
        };
        responder.send(std::move(endless));
      },
      with_request(kShort));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST(HttpTimeoutTest, GivesUpOnAClientThatDoesNotReadABody) {
  const auto server = serve(
      [](const Request&, Responder responder) {
        responder.send(json_response(std::string(std::size_t{64} << 20, 'x')));
      },
      with_request(kShort));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n"));
  EXPECT_TRUE(testing::eventually([&] { return server->counters().requests == 1; }));
  EXPECT_TRUE(testing::eventually([&] { return server->counters().open == 0; }));
  EXPECT_FALSE(client.receive());  // the body ends early
}

TEST(HttpTimeoutTest, DoesNotLimitTheHandler) {
  std::promise<Responder> pending;
  const auto server =
      serve([&](const Request&, Responder responder) { pending.set_value(std::move(responder)); },
            with_request(kShort));
  auto client = client_of(*server);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  Responder responder = pending.get_future().get();
  auto slow = client_of(*server);
  ASSERT_TRUE(slow.send("G"));
  EXPECT_TRUE(slow.wait_for_close());  // began later than the request, and its time is over
  responder.send(text_response(200, "late"));
  EXPECT_EQ(reply_of(client.receive()).body, "late\n");
}

}  // namespace
}  // namespace tangram::http
