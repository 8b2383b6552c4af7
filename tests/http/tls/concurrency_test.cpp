// Many clients over TLS while certificates change, connections are evicted and the server stops.

#include "tests/http/tls/fixture.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tangram::http {
namespace {

constexpr int kClients = 6;
constexpr int kRounds = 15;

/// Runs `work(i)` on that many threads.
template <class Work>
void in_parallel(int count, const Work& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

class TlsConcurrencyTest : public ::testing::Test {
 protected:
  void rotate(const extender::CertificateAndKey& pair) {
    files_.write("tls.crt", pair.certificate);
    files_.write("tls.key", pair.key);
    clock_.advance(tls::kLookInterval);
  }

  HalfManualClock clock_;
  extender::Authority ca_ = make_authority();
  TlsFiles files_{server_of(ca_), ca_.own().certificate};
};

/// Connects and asks twice. @returns how many answers are right
int right_answers(Client& client, std::uint16_t port, const std::string& path) {
  if (!client.connect("127.0.0.1", port)) return 0;
  const bool got = reply_of(client.request("GET", path)).body == "GET " + path + "|";
  const bool posted = reply_of(client.request("POST", path, "x")).body == "POST " + path + "|x";
  return (got ? 1 : 0) + (posted ? 1 : 0);
}

TEST_F(TlsConcurrencyTest, AnswersEveryClientWhileTheCertificateIsRotated) {
  const auto identity = files_.load(clock_);
  const auto server = serve(echo, tls_options(identity));
  const auto scheduler = client_of(ca_, "system:kube-scheduler");
  std::atomic<int> answered = 0;
  const auto rotate_on = [&] {
    for (int i = 0; i < kRounds; ++i) rotate(server_of(ca_));
  };
  const auto read_health = [&] {
    for (int i = 0; i < kRounds; ++i) (void)identity->health();
  };
  in_parallel(kClients + 2, [&](int number) {
    if (number == kClients) return rotate_on();
    if (number > kClients) return read_health();
    for (int i = 0; i < kRounds; ++i) {
      auto client = number % 2 == 0 ? tls_client(ca_) : tls_client(ca_, scheduler);
      const auto path = "/" + std::to_string(number) + "-" + std::to_string(i);
      answered += right_answers(client, server->port(), path);
    }
  });
  EXPECT_EQ(answered, 2 * kClients * kRounds);
  EXPECT_GT(identity->health().reloads, 0U);
}

TEST_F(TlsConcurrencyTest, EvictsAndCountsWhileManyConnect) {
  auto options = tls_options(files_.load(clock_));
  options.max_connections = 2;
  const auto server = serve(echo, options);
  in_parallel(kClients, [&](int number) {
    std::vector<Client> kept;
    for (int i = 0; i < kRounds; ++i) {
      kept.push_back(number % 2 == 0 ? client_of(*server) : tls_client(ca_));
      if (number % 2 == 1) (void)connect_error(kept.back(), server->port());
      (void)server->counters();
    }
  });
  // A client is connected before the server has accepted it.
  constexpr std::uint64_t kAll = std::uint64_t{kClients} * kRounds;
  EXPECT_TRUE(testing::eventually([&] { return server->counters().accepted == kAll; }));
  EXPECT_GT(server->counters().evicted, 0U);
  EXPECT_LE(server->counters().open, 2U);
  auto last = tls_client(ca_);
  EXPECT_EQ(connect_error(last, server->port()), "");
}

TEST_F(TlsConcurrencyTest, StopsWhileClientsConnectAndAsk) {
  auto options = tls_options(files_.load(clock_));
  options.drain_timeout = std::chrono::seconds(30);
  const auto server = serve(echo, options);
  std::atomic<int> answered = 0;
  in_parallel(kClients + 1, [&](int number) {
    if (number == kClients) {
      while (answered < kClients) std::this_thread::yield();
      server->stop();
      return;
    }
    auto client = tls_client(ca_);
    while (client.connect("127.0.0.1", server->port()) && client.request("GET", "/")) ++answered;
  });
  EXPECT_EQ(server->counters().open, 0U);
}

}  // namespace
}  // namespace tangram::http
