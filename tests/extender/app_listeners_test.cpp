// What the service listens on, and who may do what there.

#include "kube/token_reviews.hpp"
#include "tests/extender/app_rig.hpp"
#include "tests/http/tls/fixture.hpp"
#include "tests/testing/exposition.hpp"
#include "tests/testing/reviewing_api.hpp"

#include <gtest/gtest.h>

#include <future>
#include <utility>

namespace tangram::extender {
namespace {

using testing::Exposition;
using testing::json_at;

class AppListenersTest : public ::testing::Test {
 protected:
  AppListenersTest() { cluster_.add_node("a", 2); }

  config::Config with_tls() const {
    auto config = test_config();
    config.tls.certificate = files_.path("tls.crt");
    config.tls.key = files_.path("tls.key");
    config.tls.client_ca = files_.path("ca.crt");
    config.tls.client_names = "system:kube-scheduler";
    return config;
  }
  http::Reply ask(const std::string& client, std::uint16_t port, std::string_view method,
                  const std::string& target, std::string body = "") const {
    auto connection = client.empty() ? http::tls_client(ca_)
                                     : http::tls_client(ca_, http::client_of(ca_, client));
    if (auto connected = connection.connect("127.0.0.1", port); !connected) {
      return {.status = 0, .headers = {}, .body = connected.error().message};
    }
    return http::reply_of(connection.request(method, target, std::move(body)));
  }

  Cluster cluster_;
  Authority ca_ = http::make_authority();
  http::TlsFiles files_{http::server_of(ca_), ca_.own().certificate};
};

TEST_F(AppListenersTest, LetOnlyTheNamedClientBind) {
  const auto app = start_synced(cluster_, with_tls());
  const std::string uid = cluster_.add_pod("p", "0.5");
  const std::string bind =
      R"({"PodName":"p","PodNamespace":"ml","PodUID":")" + uid + R"(","Node":"a"})";
  for (const std::string verb : {"/filter", "/prioritize", "/preempt", "/bind"}) {
    EXPECT_EQ(ask("", app->port(), "POST", verb, bind).status, 403) << verb;
    EXPECT_EQ(ask("system:node:a", app->port(), "POST", verb, bind).status, 403) << verb;
  }
  EXPECT_EQ(cluster_.pod("p").node, "");
  EXPECT_EQ(ask("", app->port(), "GET", "/api/v1/cluster").status, 200);
  const auto bound = ask("system:kube-scheduler", app->port(), "POST", "/bind", bind);
  EXPECT_EQ(bound.status, 200);
  EXPECT_EQ(json_at(bound.body, "Error"), "");
  EXPECT_EQ(cluster_.pod("p").node, "a");
}

TEST_F(AppListenersTest, ServeMetricsAndHealthApart) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  const auto app = start_synced(cluster_, config);
  Caller probe(app->metrics_port());
  for (const char* page : {"/healthz", "/readyz", "/metrics", "/metrics/cards"}) {
    EXPECT_EQ(probe.get(page).status, 200) << page;
    EXPECT_EQ(ask("", app->port(), "GET", page).status, 404) << page;
  }
  EXPECT_EQ(probe.post("/bind", "{}").status, 404);
  EXPECT_EQ(probe.get("/api/v1/cluster").status, 404);
}

TEST_F(AppListenersTest, ServeMetricsToTokensWhoseUserMayReadThem) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.metrics.authentication = config::MetricsAuthentication::kToken;
  testing::ReviewingApi api(cluster_.api);
  auto app = App::create(config, {.api = api, .clock = cluster_.clock, .replica = std::nullopt});
  ASSERT_TRUE(app) << app.error().message;
  ASSERT_TRUE(testing::eventually([&] { return (*app)->synced(); }));
  auto client = http::tls_client(ca_);
  ASSERT_TRUE(client.connect("127.0.0.1", (*app)->metrics_port()));
  const auto status = [&](const char* path, const std::string& authorization) {
    const http::Fields fields{{"Authorization", authorization}};
    return http::reply_of(client.request("GET", path, "", "", fields)).status;
  };
  for (const char* page : {"/metrics", "/metrics/cards"}) {
    EXPECT_EQ(status(page, ""), 401) << page;
    EXPECT_EQ(status(page, "Bearer forged"), 401) << page;
    EXPECT_EQ(status(page, "Bearer \xff"), 401) << page;
    EXPECT_EQ(status(page, "Basic reader"), 401) << page;
    EXPECT_EQ(status(page, "Bearer other"), 403) << page;
    EXPECT_EQ(status(page, "Bearer reader"), 200) << page;
    EXPECT_EQ(status(page, "bearer reader"), 200) << page;
  }
  for (const char* page : {"/healthz", "/readyz"}) EXPECT_EQ(status(page, ""), 200) << page;
  EXPECT_EQ(Caller((*app)->metrics_port()).get("/metrics").status, 400);  // no TLS
}

TEST_F(AppListenersTest, ServeMetricsToKnownTokensBesideManyUnknownOnes) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.metrics.authentication = config::MetricsAuthentication::kToken;
  testing::ReviewingApi api(cluster_.api);
  auto app = App::create(config, {.api = api, .clock = cluster_.clock, .replica = std::nullopt});
  ASSERT_TRUE(app) << app.error().message;
  ASSERT_TRUE(testing::eventually([&] { return (*app)->synced(); }));
  const auto status = [&](const std::string& token) {
    auto client = http::tls_client(ca_);
    EXPECT_TRUE(client.connect("127.0.0.1", (*app)->metrics_port()));
    const http::Fields fields{{"Authorization", "Bearer " + token}};
    return http::reply_of(client.request("GET", "/metrics", "", "", fields)).status;
  };
  EXPECT_EQ(status("reader"), 200);
  cluster_.clock.advance(kube::TokenReviews::kTrust);
  int reviewed = 0;
  while (reviewed < 100 && status("forged-" + std::to_string(reviewed)) == 401) ++reviewed;
  EXPECT_EQ(reviewed, kube::TokenReviews::kBurst);
  EXPECT_EQ(status("reader"), 200);
}

TEST_F(AppListenersTest, LimitHandshakesBesideTheProbesWhereMetricsNeedTokens) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.metrics.authentication = config::MetricsAuthentication::kToken;
  const auto app = start_synced(cluster_, config);
  int answered = 0;
  while (answered < 100 && ask("", app->metrics_port(), "GET", "/healthz").status == 200) {
    ++answered;
  }
  EXPECT_EQ(answered, 50);
}

TEST_F(AppListenersTest, ServeTheWebhookToClientsWithoutCertificates) {
  auto config = with_tls();
  config.webhook.listen = {{"127.0.0.1", 0}};
  const auto app = start_synced(cluster_, config);
  EXPECT_EQ(ask("", app->webhook_port(), "GET", "/healthz").status, 200);
  EXPECT_EQ(ask("", app->webhook_port(), "POST", "/bind", "{}").status, 404);
}

TEST_F(AppListenersTest, RefuseReviewsOfUnauthenticatedClientsBeforeTheirBody) {
  auto config = with_tls();
  config.webhook.listen = {{"127.0.0.1", 0}};
  config.webhook.client_ca = files_.path("ca.crt");
  config.webhook.client_names = "apiserver";
  const auto app = start_synced(cluster_, config);
  for (const std::string head : {"POST /admission/mutate", "GET /healthz"}) {
    auto client = http::tls_client(ca_);
    ASSERT_TRUE(client.connect("127.0.0.1", app->webhook_port()));
    ASSERT_TRUE(client.send(head + " HTTP/1.1\r\nHost: h\r\nContent-Length: 999999\r\n\r\n"));
    const auto refused = http::reply_of(client.receive());  // though nothing of the body came
    EXPECT_EQ(refused.status, 403) << head;
    EXPECT_NE(refused.body.find("--admission-control-config-file"), std::string::npos);
  }
  const auto status = [&](const std::string& name, std::string_view method, const char* path) {
    return ask(name, app->webhook_port(), method, path, method == "GET" ? "" : "{}").status;
  };
  EXPECT_EQ(status("", "GET", "/healthz"), 200);
  EXPECT_EQ(status("system:kube-scheduler", "POST", "/admission/validate"), 403);
  EXPECT_EQ(status("apiserver", "POST", "/admission/validate"), 400);  // read, and no review
}

/// JSON writes up to 6 bytes for one of the 1.5 MiB that Kubernetes stores.
TEST_F(AppListenersTest, LetTheWebhookReadWhatKubernetesCanStore) {
  auto config = with_tls();
  config.webhook.listen = {{"127.0.0.1", 0}};
  const auto app = start_synced(cluster_, config);
  const std::string body((std::size_t{12} << 20), ' ');
  const auto reply = ask("", app->webhook_port(), "POST", "/admission/validate", body);
  EXPECT_EQ(reply.status, 400) << "it is no JSON, but not too large either: " << reply.body;
}

TEST_F(AppListenersTest, CloseTheWebhookWhileTheServerStillAnswers) {
  auto config = with_tls();
  config.webhook.listen = {{"127.0.0.1", 0}};
  const auto app = start_synced(cluster_, config);
  const std::string uid = cluster_.add_pod("p", "0.5");
  cluster_.api.will(testing::any_binding(), testing::Fault::Kind::kHold);
  auto bound = std::async(std::launch::async, [&] {
    return ask("system:kube-scheduler", app->port(), "POST", "/bind",
               R"({"PodName":"p","PodNamespace":"ml","PodUID":")" + uid + R"(","Node":"a"})");
  });
  cluster_.api.await_held(1);
  auto stopped = std::async(std::launch::async, [&] { app->stop(); });
  EXPECT_TRUE(testing::eventually(
      [&] { return !http::Client().connect("127.0.0.1", app->webhook_port()); }));
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  cluster_.api.release();
  stopped.get();
  EXPECT_EQ(json_at(bound.get().body, "Error"), "");
}

TEST_F(AppListenersTest, TellOfThemselvesInMetrics) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.webhook.listen = {{"127.0.0.1", 0}};
  const auto app = start_synced(cluster_, config);
  Caller plain(app->port());
  EXPECT_EQ(plain.get("/").status, 400);  // no TLS
  Caller probe(app->metrics_port());
  const Exposition metrics(probe.get("/metrics").body);
  const auto in_an_hour = std::chrono::duration<double>(
      (std::chrono::system_clock::now() + std::chrono::hours(1)).time_since_epoch());
  for (const std::string listener : {"server", "webhook"}) {
    const std::string label = "{listener=\"" + listener + "\"}";
    EXPECT_NEAR(metrics.value("tangram_tls_certificate_expiry_timestamp_seconds" + label),
                in_an_hour.count(), 60);
    EXPECT_EQ(metrics.value("tangram_tls_reload_failures_total" + label), 0);
  }
  EXPECT_EQ(metrics.value("tangram_http_connections{listener=\"metrics\"}"), 1);
  EXPECT_EQ(metrics.value(R"(tangram_http_shed_total{listener="server",what="handshake"})"), 1);
}

TEST_F(AppListenersTest, EndStrangersThatComeTooFastAndNotKubeScheduler) {
  auto config = with_tls();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.server.connects_burst = 2;
  const auto app = start_synced(cluster_, config);
  const auto status = [&](const std::string& client) {
    return ask(client, app->port(), "GET", "/api/v1/cluster").status;
  };
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status(""), 200);
  EXPECT_EQ(status(""), 0);
  cluster_.clock.advance(std::chrono::milliseconds(1'000) / config.server.connects_per_s);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status("system:kube-scheduler"), 200);
  Caller probe(app->metrics_port());
  const Exposition metrics(probe.get("/metrics").body);
  EXPECT_EQ(metrics.value(R"(tangram_http_shed_total{listener="server",what="rate"})"), 1);
}

TEST_F(AppListenersTest, ShowPlainPagesOnLoopbackByKnownNamesAlone) {
  auto config = test_config();
  config.metrics.listen = {{"127.0.0.1", 0}};
  config.server.host_names = {"gpu.example.com"};
  const auto app = start_synced(cluster_, config);
  const auto status = [&](std::uint16_t port, const std::string& path, const std::string& host) {
    http::Client client;
    EXPECT_TRUE(client.connect("127.0.0.1", port));
    EXPECT_TRUE(client.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
    return http::reply_of(client.receive()).status;
  };
  for (const auto& [port, path] : {std::pair(app->port(), "/api/v1/cluster"),
                                   std::pair(app->metrics_port(), "/metrics/cards")}) {
    EXPECT_EQ(status(port, path, "localhost"), 200) << path;
    EXPECT_EQ(status(port, path, "gpu.example.com"), 200) << path;
    EXPECT_EQ(status(port, path, "evil.example"), 421) << path;
  }
}

TEST_F(AppListenersTest, RefuseToStartWithTlsFilesThatCannotBeUsed) {
  files_.write("tls.key", http::server_of(ca_).key);
  const auto app = App::create(
      with_tls(), {.api = cluster_.api, .clock = cluster_.clock, .replica = std::nullopt});
  ASSERT_FALSE(app);
  EXPECT_NE(app.error().message.find(files_.path("tls.key")), std::string::npos);
}

/// No client chooses a label: whatever is requested, and however many pods there are.
TEST_F(AppListenersTest, ShowAsManySeriesWhateverIsAsked) {
  const auto app = start_synced(cluster_);
  Caller caller(app->port());
  const auto series = [&] {
    const auto page = caller.get("/metrics").body;
    return std::count(page.begin(), page.end(), '\n');
  };
  const auto before = series();
  for (int i = 0; i < 50; ++i) {
    const std::string name = "p" + std::to_string(i);
    const std::string uid = cluster_.add_pod(name, i % 2 == 0 ? "0.01" : "wrong-" + name);
    caller.get("/" + name + "?x=" + name);
    caller.ask("M" + name, "/filter");
    caller.post("/filter", filter_body(cluster_, name, R"(["a",")" + name + R"("])"));
    caller.bind(name, uid, "a");
    caller.bind(name, uid, name);
  }
  // What can be wrong with a pod is a closed set, and its series appear when it first happens.
  EXPECT_LE(series() - before, static_cast<std::ptrdiff_t>(3 * 10));
  const auto then = series();
  for (int i = 50; i < 100; ++i) {
    const std::string name = "p" + std::to_string(i);
    cluster_.add_pod(name, "wrong-" + name);
    caller.get("/" + name);
  }
  EXPECT_EQ(series(), then);
}

}  // namespace
}  // namespace tangram::extender
