// The server over TLS: its clients, and how connections end.

#include "http/tls/client_guard.hpp"
#include "tests/http/tls/fixture.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/log_probe.hpp"
#include "tests/testing/tls.hpp"
#include "tests/testing/tls_line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tangram::http {
namespace {

using testing::TlsLine;

constexpr std::chrono::milliseconds kShort{40};

/// Answers "METHOD path|body|names of the client".
void echo_client(Request request, Responder responder) {
  std::string text = request.method + " " + request.path + "|" + request.body + "|";
  if (!request.client) text += "unauthenticated";
  if (request.client) {
    for (const auto& name : request.client->names) text += name + ",";
  }
  responder.send(text_response(200, text));
}

class TlsServerTest : public ::testing::Test {
 protected:
  void start(Options options) { server_ = serve(echo_client, std::move(options)); }
  /// Asks clients for a certificate of the same CA.
  void start_asking() {
    files_.emplace(server_of(ca_), ca_.own().certificate);
    start(tls_options(files_->load(clock_)));
  }
  void start_plainly() {
    files_.emplace(server_of(ca_));
    start(tls_options(files_->load(clock_)));
  }
  std::string get(Client& client) {
    if (auto connected = client.connect("127.0.0.1", server_->port()); !connected) {
      return connected.error().message;
    }
    return reply_of(client.request("GET", "/")).body;
  }

  /// Counted when the server is through with the connection, a moment after the client.
  bool failed_handshakes(std::size_t count) {
    return testing::eventually([&] { return server_->counters().handshakes_failed == count; });
  }

  HalfManualClock clock_;
  extender::Authority ca_ = make_authority();
  std::optional<TlsFiles> files_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsServerTest, AnswersOverTlsAndKeepsTheConnection) {
  start_plainly();
  auto client = tls_client(ca_);
  ASSERT_TRUE(client.connect("127.0.0.1", server_->port()));
  EXPECT_EQ(reply_of(client.request("POST", "/a", "body")).body, "POST /a|body|unauthenticated\n");
  const std::string large(300'000, 'x');  // several records each way
  EXPECT_EQ(reply_of(client.request("POST", "/b", large)).body,
            "POST /b|" + large + "|unauthenticated\n");
  EXPECT_EQ(server_->counters().accepted, 1U);
}

TEST_F(TlsServerTest, EndsAResponseThatEndsWithTheConnectionByACloseNotify) {
  start_plainly();
  TlsLine line(server_->port());
  ASSERT_TRUE(line.shake_hands()) << line.error();
  line.send("GET /old HTTP/1.0\r\n\r\n");
  const std::string all = line.read_to_end();
  EXPECT_NE(all.find("GET /old|"), std::string::npos) << all;
  EXPECT_TRUE(line.ended_properly());
}

TEST_F(TlsServerTest, SaysWhatIsWrongBeforeItEndsTheConnection) {
  files_.emplace(server_of(ca_));
  auto options = tls_options(files_->load(clock_));
  options.max_body_bytes = 1000;
  start(options);
  TlsLine line(server_->port());
  ASSERT_TRUE(line.shake_hands()) << line.error();
  line.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" +
            std::string(500'000, 'x'));
  EXPECT_NE(line.read_to_end().find("413 Payload Too Large"), std::string::npos);
}

TEST_F(TlsServerTest, TellsAPlainClientToSpeakTls) {
  start_plainly();
  auto client = client_of(*server_);
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  const auto reply = reply_of(client.receive());
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("https://"), std::string::npos) << reply.body;
  EXPECT_TRUE(failed_handshakes(1U));
}

struct ProtocolCase {
  std::string name;
  TlsLine::Options options;
  bool want = false;
  std::string want_protocol = {};

  friend void PrintTo(const ProtocolCase& c, std::ostream* out) { *out << c.name; }
};

class TlsProtocolTest : public TlsServerTest, public ::testing::WithParamInterface<ProtocolCase> {};

TEST_P(TlsProtocolTest, TakesWhatIsSafe) {
  start_plainly();
  TlsLine line(server_->port(), GetParam().options);
  EXPECT_EQ(line.shake_hands(), GetParam().want) << line.error();
  if (GetParam().want) {
    EXPECT_EQ(line.protocol(), GetParam().want_protocol);
  }
  EXPECT_EQ(server_->counters().requests, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TlsProtocolTest,
    ::testing::ValuesIn(std::vector<ProtocolCase>{
        {.name = "Tls10", .options = {.newest = TLS1_VERSION}},
        {.name = "Tls11", .options = {.newest = TLS1_1_VERSION}},
        {.name = "Tls12", .options = {.newest = TLS1_2_VERSION}, .want = true},
        {.name = "Tls13", .options = {.newest = TLS1_3_VERSION}, .want = true},
        {.name = "Cbc", .options = {.newest = TLS1_2_VERSION, .ciphers = "ECDHE+AES+SHA256"}},
        {.name = "NoForwardSecrecy", .options = {.newest = TLS1_2_VERSION, .ciphers = "kRSA"}},
        {.name = "OffersHttp2Too",
         .options = {.protocols = {"h2", "http/1.1"}},
         .want = true,
         .want_protocol = "http/1.1"},
        {.name = "OffersHttp2Alone", .options = {.protocols = {"h2"}}},
    }),
    [](const auto& test) { return test.param.name; });

TEST_F(TlsServerTest, RefusesToRenegotiate) {
  start_plainly();
  TlsLine line(server_->port(), {.newest = TLS1_2_VERSION});
  ASSERT_TRUE(line.shake_hands());
  EXPECT_FALSE(line.renegotiate());
}

TEST_F(TlsServerTest, KnowsAVerifiedClientByItsNames) {
  start_asking();
  auto anonymous = tls_client(ca_);
  EXPECT_EQ(get(anonymous), "GET /||unauthenticated\n");
  auto scheduler = tls_client(ca_, client_of(ca_, "system:kube-scheduler"));
  EXPECT_EQ(get(scheduler), "GET /||system:kube-scheduler,\n");
}

TEST_F(TlsServerTest, DoesNotAskForCertificatesWithoutAClientCa) {
  start_plainly();
  auto client = tls_client(ca_, client_of(ca_, "somebody"));
  EXPECT_EQ(get(client), "GET /||unauthenticated\n");
}

TEST_F(TlsServerTest, RefusesCertificatesThatNobodyVouchesFor) {
  start_asking();
  const auto other = make_authority("another CA");
  const std::vector<std::pair<std::string, extender::CertificateAndKey>> cases{
      {"another CA's", client_of(other, "system:kube-scheduler")},
      {"expired", client_of(ca_, "system:kube-scheduler", expired())},
      {"a server's", server_of(ca_)},
      {"one's own", other.own()}};
  for (const auto& [name, certificate] : cases) {
    auto client = tls_client(ca_, certificate);
    EXPECT_NE(connect_error(client, server_->port()), "") << name;
  }
  EXPECT_EQ(server_->counters().requests, 0U);
  EXPECT_TRUE(failed_handshakes(cases.size()));
}

TEST_F(TlsServerTest, IsRefusedByClientsThatDoNotKnowItsAuthorityOrName) {
  start_plainly();
  auto foreign = tls_client(make_authority("another CA"));
  EXPECT_NE(connect_error(foreign, server_->port()), "");
  auto misled = tls_client(ca_, {}, "other.example.com");
  EXPECT_NE(connect_error(misled, server_->port()), "");
  files_.emplace(server_of(ca_, "127.0.0.1", expired()));
  start(tls_options(files_->load(clock_)));
  auto punctual = tls_client(ca_);
  EXPECT_NE(connect_error(punctual, server_->port()), "");
}

TEST_F(TlsServerTest, EndsAHandshakeThatIsNotFinishedInTime) {
  files_.emplace(server_of(ca_));
  auto options = tls_options(files_->load(clock_));  // idle_timeout stays at two minutes
  options.handshake_timeout = kShort;
  start(options);
  auto silent = client_of(*server_);
  EXPECT_TRUE(silent.wait_for_close());
  auto half = client_of(*server_);
  ASSERT_TRUE(half.send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)));
  EXPECT_TRUE(half.wait_for_close());
  EXPECT_TRUE(failed_handshakes(2U));
}

TEST_F(TlsServerTest, SurvivesGarbage) {
  start_plainly();
  for (int i = 0; i < 50; ++i) {
    auto client = client_of(*server_);
    std::string bytes(static_cast<std::size_t>(10 * i + 1), static_cast<char>(i * 7));
    if (i % 2 == 0)
      bytes.replace(0, 1, "\x16\x03\x01\x00\x20", 5);  // begins as a record of 32 bytes
    (void)client.send(bytes);
  }
  auto client = tls_client(ca_);
  EXPECT_EQ(get(client), "GET /||unauthenticated\n");
}

TEST_F(TlsServerTest, LetsOnlyNamedClientsWrite) {
  files_.emplace(server_of(ca_), ca_.own().certificate);
  auto options = tls_options(files_->load(clock_));
  options.gate = tls::verified_clients({"system:kube-scheduler"});
  start(options);
  const auto post = [&](const extender::CertificateAndKey& certificate) {
    auto client = tls_client(ca_, certificate);
    EXPECT_TRUE(client.connect("127.0.0.1", server_->port()));
    return reply_of(client.request("POST", "/bind", "x"));
  };
  const auto anonymous = post({});
  EXPECT_EQ(anonymous.status, 403);
  EXPECT_NE(anonymous.body.find("tlsConfig"), std::string::npos) << anonymous.body;
  const auto other = post(client_of(ca_, "system:node:a"));
  EXPECT_EQ(other.status, 403);
  EXPECT_NE(other.body.find("\"system:node:a\""), std::string::npos) << other.body;
  EXPECT_EQ(server_->counters().requests, 0U);
  EXPECT_EQ(post(client_of(ca_, "system:kube-scheduler")).status, 200);
}

struct GateCase {
  std::string name;
  Head head;
  bool want_pass = false;

  friend void PrintTo(const GateCase& c, std::ostream* out) { *out << c.name; }
};

const TlsClient kScheduler{.names = {"other", "system:kube-scheduler"}, .expires = {}};
const TlsClient kSomebody{.names = {"system:node:a"}, .expires = {}};

class VerifiedClientsTest : public ::testing::TestWithParam<GateCase> {};

TEST_P(VerifiedClientsTest, PassWhereTheyMay) {
  const auto gate = tls::verified_clients({"system:kube-scheduler"});
  const auto refused = gate(GetParam().head);
  EXPECT_EQ(!refused, GetParam().want_pass) << (refused ? refused->body : "");
  if (refused) {
    EXPECT_EQ(refused->status, 403);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, VerifiedClientsTest,
    ::testing::ValuesIn(std::vector<GateCase>{
        {"ProbeOfAStranger", {.method = "GET", .target = "/healthz"}, true},
        {"ReadinessOfAStranger", {.method = "HEAD", .target = "/readyz?verbose"}, true},
        {"ScrapeOfAStranger", {.method = "GET", .target = "/metrics/cards"}, true},
        {"PageOfAStranger", {.method = "GET", .target = "/api/v1/cluster"}},
        {"FrontPageOfAStranger", {.method = "GET", .target = "/"}},
        {"SpelledOtherwise", {.method = "GET", .target = "/%68ealthz"}},
        {"PathThatBeginsAlike", {.method = "GET", .target = "/metrics/cards/../../api"}},
        {"PageFromHere", {.method = "GET", .target = "/api/v1/cluster", .local = true}, true},
        {"PageOfAVerifiedClient",
         {.method = "GET", .target = "/api/v1/cluster", .client = &kSomebody},
         true},
        {"VerbFromHere", {.method = "POST", .target = "/bind", .local = true}},
        {"VerbAtAnOpenPath", {.method = "POST", .target = "/healthz"}},
        {"VerbOfAnUnnamedClient", {.method = "POST", .target = "/bind", .client = &kSomebody}},
        {"VerbOfTheNamedClient",
         {.method = "POST", .target = "/bind", .client = &kScheduler},
         true},
        {"AnyOtherMethod", {.method = "PUT", .target = "/metrics"}},
    }),
    [](const auto& test) { return test.param.name; });

class VerifiedReviewersTest : public ::testing::TestWithParam<GateCase> {};

TEST_P(VerifiedReviewersTest, PassWhereTheyMay) {
  const auto gate = tls::verified_reviewers({"apiserver"});
  const auto refused = gate(GetParam().head);
  EXPECT_EQ(!refused, GetParam().want_pass) << (refused ? refused->body : "");
  if (refused) {
    EXPECT_EQ(refused->status, 403);
    EXPECT_NE(refused->body.find("webhook.client_"), std::string::npos) << refused->body;
  }
}

const TlsClient kApiServer{.names = {"apiserver"}, .expires = {}};

INSTANTIATE_TEST_SUITE_P(
    Table, VerifiedReviewersTest,
    ::testing::ValuesIn(std::vector<GateCase>{
        {"Probe", {.method = "GET", .target = "/healthz"}, true},
        {"Page", {.method = "GET", .target = "/"}},
        {"PageFromHere", {.method = "GET", .target = "/", .local = true}},
        {"ReviewWithoutCertificate",
         {.method = "POST", .target = "/admission/mutate", .local = true}},
        {"ReviewAtAnOpenPath", {.method = "POST", .target = "/healthz"}},
        {"ReviewOfKubeScheduler",
         {.method = "POST", .target = "/admission/validate", .client = &kScheduler}},
        {"ReviewOfTheApiServer",
         {.method = "POST", .target = "/admission/mutate?timeout=5s", .client = &kApiServer},
         true},
    }),
    [](const auto& test) { return test.param.name; });

TEST_F(TlsServerTest, DoesNotReadTheBodyOfARequestThatMayNotPass) {
  files_.emplace(server_of(ca_), ca_.own().certificate);
  auto options = tls_options(files_->load(clock_));
  options.gate = tls::verified_clients({});
  start(options);
  auto client = tls_client(ca_);
  ASSERT_TRUE(client.connect("127.0.0.1", server_->port()));
  ASSERT_TRUE(client.send("POST /bind HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n"));
  EXPECT_EQ(reply_of(client.receive()).status, 403);  // though nothing of the body came
}

/// kube-scheduler keeps connections for as long as it uses them.
class TlsTrustTest : public TlsServerTest {
 protected:
  TlsTrustTest() {
    files_.emplace(server_of(ca_), ca_.own().certificate);
    auto options = tls_options(files_->load(clock_));
    options.gate = tls::verified_clients({});
    start(options);
  }
  void trust(const std::string& client_ca) {
    files_->write("ca.crt", client_ca);
    clock_.advance(tls::kLookInterval);
    auto newcomer = tls_client(ca_);
    EXPECT_EQ(connect_error(newcomer, server_->port()), "");  // makes the server look
  }
};

TEST_F(TlsTrustTest, StaysOnAnOpenConnectionWhileTheClientIsVouchedFor) {
  auto scheduler = tls_client(ca_, client_of(ca_, "system:kube-scheduler"));
  ASSERT_EQ(connect_error(scheduler, server_->port()), "");
  trust(make_authority("a newer CA").own().certificate + ca_.own().certificate);
  EXPECT_EQ(reply_of(scheduler.request("POST", "/bind", "x")).status, 200);
  EXPECT_EQ(server_->counters().accepted, 2U);
}

TEST_F(TlsTrustTest, EndsOnAnOpenConnectionWithTheAuthority) {
  auto scheduler = tls_client(ca_, client_of(ca_, "system:kube-scheduler"));
  ASSERT_EQ(connect_error(scheduler, server_->port()), "");
  trust(make_authority("a newer CA").own().certificate);
  const auto refused = reply_of(scheduler.request("POST", "/bind", "x"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.header("Connection"), "close");
}

TEST_F(TlsTrustTest, EndsOnAnOpenConnectionWithTheCertificate) {
  const auto now = std::chrono::system_clock::now();
  const auto soon = std::chrono::ceil<std::chrono::seconds>(now) + std::chrono::seconds(3);
  auto scheduler =
      tls_client(ca_, client_of(ca_, "system:kube-scheduler", {now - std::chrono::hours(1), soon}));
  ASSERT_EQ(connect_error(scheduler, server_->port()), "");
  EXPECT_TRUE(testing::eventually([&] { return std::chrono::system_clock::now() >= soon; }));
  EXPECT_EQ(reply_of(scheduler.request("POST", "/bind", "x")).status, 403);
}

TEST_F(TlsServerTest, SaysInTheLogWhyAClientGotNoConnection) {
  testing::LogProbe log("its certificate does not count: certificate has expired");
  start_asking();
  auto late = tls_client(ca_, client_of(ca_, "system:kube-scheduler", expired()));
  EXPECT_NE(connect_error(late, server_->port()), "");
  log.wait();
  server_.reset();
}

TEST_F(TlsServerTest, TakesAnAuthorityThatAnotherHasSigned) {
  const auto root = testing::make_identity("root", "", nullptr);
  const auto middle = testing::make_identity("middle", "", &root);
  const auto client = testing::make_identity("system:kube-scheduler", "DNS:scheduler", &middle);
  files_.emplace(server_of(ca_), middle.certificate_pem());
  start(tls_options(files_->load(clock_)));
  auto scheduler = tls_client(ca_, {client.certificate_pem(), client.key_pem()});
  EXPECT_EQ(get(scheduler), "GET /||system:kube-scheduler,scheduler,\n");
}

TEST_F(TlsServerTest, EndsIdleConnectionsWhenItStops) {
  start_plainly();
  auto used = tls_client(ca_);
  EXPECT_EQ(get(used), "GET /||unauthenticated\n");
  auto greeting = client_of(*server_);  // still in its handshake
  server_->stop();
  EXPECT_TRUE(used.wait_for_close());
  EXPECT_TRUE(greeting.wait_for_close());
  EXPECT_EQ(server_->counters().open, 0U);
}

TEST(ClientNamesTest, AreSplitAtCommas) {
  EXPECT_EQ(tls::split_names(""), std::vector<std::string>{});
  EXPECT_EQ(tls::split_names(" , "), std::vector<std::string>{});
  EXPECT_EQ(tls::split_names(" a,b c , d,"), (std::vector<std::string>{"a", "b c", "d"}));
}

}  // namespace
}  // namespace tangram::http
