// What the server does when it has as much as it can bear: connections, and bodies in memory.

#include "http/body_budget.hpp"
#include "http/connections.hpp"
#include "http/server.hpp"
#include "tests/http/fixture.hpp"
#include "tests/http/tls/fixture.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <optional>
#include <vector>

namespace tangram::http {
namespace {

using testing::eventually;
using namespace std::chrono_literals;

/// One thread: what it did for one client is done when it answers the next.
Options with_connections(std::size_t most) {
  auto options = local_options();  // its timeouts are beyond the test's patience
  options.threads = 1;
  options.max_connections = most;
  return options;
}

/// A client that is being served: it got an answer.
Client served_client(const Server& server) {
  auto client = client_of(server);
  EXPECT_EQ(reply_of(client.request("GET", "/")).status, 200);
  return client;
}

/// A handler that keeps its requests until the test lets it answer.
class Allocation {
 public:
  Handler handler() {
    return [this](Request request, Responder responder) {
      if (request.path != "/hold") return echo(request, std::move(responder));
      const std::scoped_lock lock(mutex_);
      held_.push_back(std::move(responder));
    };
  }
  void await(std::size_t count) {
    EXPECT_TRUE(eventually([&] {
      const std::scoped_lock lock(mutex_);
      return held_.size() >= count;
    }));
  }
  void answer_all(const std::string& text = "done") {
    const std::scoped_lock lock(mutex_);
    for (auto& responder : held_) responder.send(text_response(200, text));
    held_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Responder> held_;
};

const std::string kHold = "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n";

/// A connection of which a test says how it stands.
class FakeConnection final : public Connection {
 public:
  FakeConnection(std::string origin, Trust trust, Instant since) : Connection(std::move(origin)) {
    set_trust(trust);
    waits_from(since);
  }
  void drain() override {}
  void cut() override { was_cut = true; }
  bool was_cut = false;
};

class HttpConnectionsTest : public ::testing::Test {
 protected:
  using Trust = Connection::Trust;
  using Decision = Connections::Decision;

  /// @param age  how long it has waited for its client; nothing = it is being answered
  std::shared_ptr<FakeConnection> add(const std::string& origin, Trust trust,
                                      std::optional<std::chrono::milliseconds> age) {
    const auto since = age ? now_ - *age : Connection::Instant::max();
    auto made = std::make_shared<FakeConnection>(origin, trust, since);
    EXPECT_TRUE(connections_.add(made, Decision::kServe));
    all_.push_back(made);
    return made;
  }
  /// Full; who goes for a newcomer?
  void expect_evicted(const std::shared_ptr<FakeConnection>& victim) {
    EXPECT_EQ(connections_.reserve(now_), Decision::kServe);
    for (const auto& connection : all_) {
      EXPECT_EQ(connection->was_cut, connection == victim);
    }
  }

  const Connection::Instant now_ = Connection::Instant() + 1h;
  Connections connections_{3};
  std::vector<std::shared_ptr<FakeConnection>> all_;
};

TEST_F(HttpConnectionsTest, CutsFirstWhoGotNoAnswerForAWhile) {
  add("a", Trust::kServed, 100s);
  add("a", Trust::kUnproven, 3s);
  expect_evicted(add("a", Trust::kUnproven, 4s));
}

TEST_F(HttpConnectionsTest, GivesANewcomerTimeWhileOthersIdle) {
  add("a", Trust::kUnproven, 1s);
  add("a", Trust::kServed, 10ms);
  expect_evicted(add("a", Trust::kServed, 20ms));
}

TEST_F(HttpConnectionsTest, CutsTheOldestNewcomerWhereThereAreOnlyThose) {
  add("a", Trust::kUnproven, 10ms);
  add("a", Trust::kUnproven, 20ms);
  expect_evicted(add("a", Trust::kUnproven, 30ms));
}

TEST_F(HttpConnectionsTest, CutsOneOfTheAddressThatHasMost) {
  add("scheduler", Trust::kUnproven, 60s);
  add("attacker", Trust::kServed, 10ms);
  expect_evicted(add("attacker", Trust::kServed, 20ms));
}

TEST_F(HttpConnectionsTest, LeavesVerifiedClientsAloneWhileThereAreOthers) {
  add("a", Trust::kVerified, 60s);
  add("a", Trust::kVerified, 60s);
  expect_evicted(add("b", Trust::kServed, 10ms));
}

TEST_F(HttpConnectionsTest, CutsTheLongestIdleOfVerifiedClients) {
  add("a", Trust::kVerified, 1s);
  add("b", Trust::kVerified, std::nullopt);
  expect_evicted(add("c", Trust::kVerified, 2s));
}

TEST_F(HttpConnectionsTest, CutsNobodyWhoIsBeingAnswered) {
  for (int i = 0; i < 3; ++i) add("a", Trust::kServed, std::nullopt);
  EXPECT_EQ(connections_.reserve(now_), Decision::kReject);
  for (const auto& connection : all_) EXPECT_FALSE(connection->was_cut);
  EXPECT_EQ(connections_.counts().turned_away, 1U);
}

TEST(HttpEvictionTest, MakesRoomForWhoTalks) {
  const auto server = serve(echo, with_connections(2));
  auto idle = served_client(*server);
  auto silent = client_of(*server);
  ASSERT_TRUE(eventually([&] { return server->counters().open == 2; }));
  auto third = served_client(*server);
  EXPECT_TRUE(idle.wait_for_close());  // the other came a moment ago
  EXPECT_EQ(reply_of(silent.request("GET", "/late")).body, "GET /late|");
  EXPECT_EQ(server->counters().evicted, 1U);
  EXPECT_EQ(server->counters().rejected, 0U);
  EXPECT_EQ(server->counters().accepted, 3U);
}

TEST(HttpEvictionTest, CutsTheLongestIdleOfThoseThatGotOne) {
  const auto server = serve(echo, with_connections(2));
  auto first = served_client(*server);
  auto second = served_client(*server);
  EXPECT_EQ(reply_of(first.request("GET", "/again")).status,
            200);  // now the other has waited longer
  auto third = served_client(*server);
  EXPECT_TRUE(second.wait_for_close());
  EXPECT_EQ(reply_of(first.request("GET", "/")).status, 200);
}

TEST(HttpEvictionTest, CutsAClientThatDoesNotTakeItsAnswer) {
  const auto server = serve(
      [](const Request& request, Responder responder) {
        const std::size_t size = request.path == "/large" ? std::size_t{64} << 20 : 1;
        responder.send(json_response(std::string(size, 'x')));
      },
      with_connections(1));
  auto reader = client_of(*server);
  ASSERT_TRUE(reader.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return server->counters().requests == 1; }));
  int status = 503;  // until the answer is made and waits for its reader
  while (status == 503) status = reply_of(client_of(*server).request("GET", "/")).status;
  EXPECT_EQ(status, 200);
  EXPECT_FALSE(reader.receive());
}

TEST(HttpEvictionTest, LeavesVerifiedClientsTheirPlaces) {
  HalfManualClock clock;
  const auto ca = make_authority();
  const TlsFiles files(server_of(ca), ca.own().certificate);
  auto options = tls_options(files.load(clock));
  options.max_connections = 2;
  options.threads = 1;
  const auto server = serve(echo, options);
  auto scheduler = tls_client(ca, client_of(ca, "system:kube-scheduler"));
  ASSERT_EQ(connect_error(scheduler, server->port()), "");
  std::vector<Client> unauthenticated;
  for (int i = 0; i < 5; ++i) {
    unauthenticated.push_back(tls_client(ca));
    EXPECT_EQ(connect_error(unauthenticated.back(), server->port()), "");
    unauthenticated.push_back(client_of(*server));  // says nothing
  }
  auto last = tls_client(ca);
  EXPECT_EQ(connect_error(last, server->port()), "");
  EXPECT_EQ(reply_of(scheduler.request("GET", "/still")).body, "GET /still|");
  EXPECT_EQ(server->counters().evicted, unauthenticated.size());
}

TEST(HttpEvictionTest, TurnsNewcomersAwayWhereAllAreBeingAnswered) {
  Allocation allocation;
  const auto server = serve(allocation.handler(), with_connections(1));
  auto first = client_of(*server);
  ASSERT_TRUE(first.send(kHold));
  allocation.await(1);

  auto second = client_of(*server);
  const auto reply = reply_of(second.request("POST", "/filter", std::string(100'000, 'x')));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("Retry-After"), "1");
  EXPECT_TRUE(second.wait_for_close());
  EXPECT_EQ(server->counters().rejected, 1U);
  EXPECT_EQ(server->counters().requests, 1U);
  EXPECT_EQ(server->counters().evicted, 0U);

  allocation.answer_all();
  EXPECT_EQ(reply_of(first.receive()).body, "done\n");
  served_client(*server);  // the first is idle now
  EXPECT_TRUE(first.wait_for_close());
}

TEST(HttpEvictionTest, DoesNotLetAConnectionAboveTheLimitIdle) {
  Allocation allocation;
  auto options = with_connections(1);
  options.request_timeout = std::chrono::milliseconds(40);  // idle_timeout stays at two minutes
  const auto server = serve(allocation.handler(), options);
  auto first = client_of(*server);
  ASSERT_TRUE(first.send(kHold));
  allocation.await(1);
  auto second = client_of(*server);
  EXPECT_TRUE(second.wait_for_close());
  EXPECT_EQ(server->counters().rejected, 1U);
  EXPECT_EQ(server->counters().open, 1U);
  allocation.answer_all();
}

/// Of the budget, by ones that hold it until they are answered.
TEST(HttpBodyBudgetTest, RefusesALargeBodyWhileOthersHoldTheMemory) {
  constexpr std::size_t kLarge = 400'000;
  Allocation allocation;
  auto options = local_options();
  options.max_body_bytes = kLarge;
  options.max_bodies_bytes = 4 * kLarge;
  const auto server = serve(allocation.handler(), options);
  const std::string body(kLarge, 'x');
  const std::string held =
      "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\n\r\n" + body;
  auto first = client_of(*server);
  auto second = client_of(*server);
  ASSERT_TRUE(first.send(held));
  ASSERT_TRUE(second.send(held));
  allocation.await(2);

  auto third = client_of(*server);
  const auto refused = reply_of(third.request("POST", "/", body));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_TRUE(third.wait_for_close());
  EXPECT_EQ(server->counters().bodies_refused, 1U);
  auto small = client_of(*server);
  EXPECT_EQ(
      reply_of(small.request("POST", "/bind", std::string(kUncountedBodyBytes / 2, 'x'))).status,
      200);

  allocation.answer_all();
  EXPECT_EQ(reply_of(first.receive()).status, 200);
  EXPECT_EQ(reply_of(second.receive()).status, 200);
  EXPECT_TRUE(eventually([&] {  // a body is given back after its answer was sent
    return reply_of(client_of(*server).request("POST", "/", body)).status == 200;
  }));
}

TEST(HttpBodyBudgetTest, CountsWhatHasArrivedAndNotWhatIsAnnounced) {
  auto options = local_options();
  options.max_body_bytes = 1'000'000;
  options.max_bodies_bytes = 2'000'000;
  const auto server = serve(echo, options);
  std::vector<Client> announcing;
  for (int i = 0; i < 20; ++i) {
    announcing.push_back(client_of(*server));
    ASSERT_TRUE(
        announcing.back().send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx"));
  }
  ASSERT_TRUE(eventually([&] { return server->counters().open == announcing.size(); }));
  auto client = client_of(*server);
  EXPECT_EQ(reply_of(client.request("POST", "/", std::string(400'000, 'x'))).status, 200);
}

TEST(HttpBodyBudgetTest, CountsAnswersThatNobodyTakes) {
  constexpr std::size_t kPage = std::size_t{32} << 20;  // beyond what the sockets hold
  auto options = local_options();
  options.max_body_bytes = 1000;
  options.max_bodies_bytes = 2 * kPage;
  options.threads = 1;  // so that the first answer is made before the second request is read
  const auto server =
      serve([](const Request&,
               Responder responder) { responder.send(json_response(std::string(kPage, 'x'))); },
            options);
  auto lazy = client_of(*server);
  ASSERT_TRUE(lazy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  ASSERT_TRUE(eventually([&] { return server->counters().requests == 1; }));
  auto next = client_of(*server);
  EXPECT_EQ(reply_of(next.request("GET", "/")).status, 503);
  EXPECT_EQ(reply_of(lazy.receive()).body.size(), kPage);
  auto last = client_of(*server);
  EXPECT_EQ(reply_of(last.request("GET", "/")).status, 200);
}

TEST(BodyBudgetTest, OneSourceTakesHalfAtMost) {
  BodyBudget budget(100);
  EXPECT_TRUE(budget.take({.origin = "a"}, 30));
  EXPECT_FALSE(budget.take({.origin = "a"}, 21));
  EXPECT_TRUE(budget.take({.origin = "a"}, 20));
  EXPECT_FALSE(budget.take({.origin = "a"}, 1));
  EXPECT_EQ(budget.used(), 50U);
  budget.give_back({.origin = "a"}, 50);
  EXPECT_TRUE(budget.take({.origin = "a"}, 50));
}

TEST(BodyBudgetTest, GreedySourcesLeaveTheSameForTheNext) {
  BodyBudget budget(100);
  for (const char* origin : {"a", "b", "c", "d"}) {
    const BodySource source{.origin = origin};
    EXPECT_TRUE(budget.take(source, 3)) << origin;
    while (budget.take(source, 1)) {}
  }
  EXPECT_EQ(budget.used(), 50U + 25U + 12U + 6U);
}

TEST(BodyBudgetTest, VerifiedClientsTakeAllThatIsFree) {
  BodyBudget budget(100);
  EXPECT_TRUE(budget.take({.origin = "a"}, 40));
  EXPECT_FALSE(budget.take({.origin = "b", .verified = true}, 61));
  EXPECT_TRUE(budget.take({.origin = "b", .verified = true}, 60));
  EXPECT_FALSE(budget.take({.origin = "c", .verified = true}, 1));
}

TEST(BodyShareTest, GivesBackExactlyWhatItTook) {
  BodyBudget budget(100'000);
  {
    BodyShare share(budget, {.origin = "10.0.0.1"});
    EXPECT_TRUE(share.grow(kUncountedBodyBytes - 1));
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_TRUE(share.grow(10));
    EXPECT_EQ(budget.used(), 9U);
    EXPECT_FALSE(share.grow(100'000));
    EXPECT_EQ(budget.used(), 9U);
    BodyShare other = std::move(share);
    EXPECT_TRUE(other.grow(1));
    EXPECT_EQ(budget.used(), 10U);
    other = BodyShare(budget, {.origin = "10.0.0.2"});
    EXPECT_EQ(budget.used(), 0U);
  }
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace tangram::http
