#include "node/metrics_listener.hpp"

#include "kube/local/api.hpp"
#include "tests/http/tls/fixture.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/reviewing_api.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <utility>

namespace tangram::node {
namespace {

class MetricsListenerTest : public ::testing::Test {
 protected:
  MetricsSettings settings(bool tls, bool tokens) const {
    MetricsSettings of;
    of.listen = {"127.0.0.1", 0};
    of.tokens = tokens;
    if (tls) {
      of.certificate = files_.path("tls.crt");
      of.key = files_.path("tls.key");
    }
    return of;
  }
  void open(
      const MetricsSettings& settings,
      std::function<std::string()> page = [] { return std::string("up 1\n"); }) {
    auto opened = MetricsListener::open(
        settings, {.page = std::move(page), .reviews = api_, .clock = clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = std::move(*opened);
  }
  /// Over a connection of its own.
  http::Reply get(http::Client client, const char* path, const std::string& authorization = "") {
    if (auto connected = client.connect("127.0.0.1", listener_->port()); !connected) {
      return {.status = 0, .headers = {}, .body = connected.error().message};
    }
    const http::Fields fields{{"Authorization", authorization}};
    return http::reply_of(client.request("GET", path, "", "", fields));
  }
  http::Client secure() const { return http::tls_client(ca_); }

  http::HalfManualClock clock_;
  kube::LocalApi cluster_{clock_};
  testing::ReviewingApi api_{cluster_};
  extender::Authority ca_ = http::make_authority();
  http::TlsFiles files_{http::server_of(ca_)};
  std::unique_ptr<MetricsListener> listener_;
};

TEST_F(MetricsListenerTest, ServesEveryClientByDefault) {
  open(settings(false, false));
  const auto page = get(http::Client(), "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "up 1\n");
  EXPECT_EQ(get(http::Client(), "/healthz").status, 200);
  EXPECT_EQ(get(http::Client(), "/").status, 404);
  EXPECT_EQ(api_.reviews, 0);
}

TEST_F(MetricsListenerTest, ServesTokensWhoseUserMayReadThemAndProbesWithoutOne) {
  open(settings(true, true));
  EXPECT_EQ(get(secure(), "/metrics").status, 401);
  EXPECT_EQ(get(secure(), "/metrics", "Bearer forged").status, 401);
  EXPECT_EQ(get(secure(), "/metrics", "Basic reader").status, 401);
  EXPECT_EQ(get(secure(), "/metrics", "Bearer other").status, 403);
  const auto page = get(secure(), "/metrics", "Bearer reader");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "up 1\n");
  EXPECT_EQ(get(secure(), "/healthz").status, 200);
  EXPECT_EQ(get(http::Client(), "/metrics", "Bearer reader").status, 400);  // no TLS
}

TEST_F(MetricsListenerTest, ServesWithoutTokensOverTls) {
  open(settings(true, false));
  EXPECT_EQ(get(secure(), "/metrics").status, 200);
  EXPECT_EQ(api_.reviews, 0);
}

TEST_F(MetricsListenerTest, TakesARenewedCertificateWithoutARestart) {
  open(settings(true, false));
  const auto next = http::make_authority("the next CA");
  EXPECT_EQ(get(http::tls_client(next), "/healthz").status, 0);
  const auto renewed = http::server_of(next);
  files_.write("tls.crt", renewed.certificate);
  files_.write("tls.key", renewed.key);
  clock_.advance(http::tls::kLookInterval);
  EXPECT_EQ(get(http::tls_client(next), "/healthz").status, 200);
  EXPECT_EQ(get(secure(), "/healthz").status, 0);
}

/// A driver that does not answer must not have the agent restarted.
TEST_F(MetricsListenerTest, AnswersProbesWhileScrapesWait) {
  std::promise<void> go_on;
  const auto gate = go_on.get_future().share();
  std::atomic<int> begun = 0;
  open(settings(false, false), [&begun, gate] {
    ++begun;
    gate.wait();
    return std::string("late 1\n");
  });
  std::array<http::Client, 4> scrapers;
  for (http::Client& scraper : scrapers) {
    ASSERT_TRUE(scraper.connect("127.0.0.1", listener_->port()));
    ASSERT_TRUE(scraper.send("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"));
  }
  ASSERT_TRUE(testing::eventually([&] { return begun > 0; }));
  EXPECT_EQ(get(http::Client(std::chrono::seconds(4)), "/healthz").status, 200);
  EXPECT_EQ(begun, 1);
  go_on.set_value();
  for (http::Client& scraper : scrapers) {
    EXPECT_EQ(http::reply_of(scraper.receive()).body, "late 1\n");
  }
}

TEST_F(MetricsListenerTest, LimitsHandshakesOfAnAddress) {
  open(settings(true, true));
  int answered = 0;
  while (answered < 100 && get(secure(), "/healthz").status == 200) ++answered;
  EXPECT_EQ(answered, 50);
}

TEST_F(MetricsListenerTest, SaysWhatKeepsItFromServing) {
  std::filesystem::remove(files_.path("tls.key"));
  const auto failed = MetricsListener::open(
      settings(true, false),
      {.page = [] { return std::string(); }, .reviews = api_, .clock = clock_});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(files_.path("tls.key")), std::string::npos);

  open(settings(false, false));
  auto taken = settings(false, false);
  taken.listen.port = listener_->port();
  const auto second = MetricsListener::open(
      taken, {.page = [] { return std::string(); }, .reviews = api_, .clock = clock_});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kUnavailable);
  EXPECT_EQ(second.error().message.rfind("--listen: ", 0), 0U) << second.error().message;
}

}  // namespace
}  // namespace tangram::node
