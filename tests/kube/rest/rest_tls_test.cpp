// RestApi over TLS: whom it trusts, and what it shows of itself.
#include "tests/kube/rest/rest_fixture.hpp"
#include "tests/testing/tls.hpp"

#include <fstream>

namespace tangram::kube {
namespace {

using namespace std::chrono_literals;
using testing::get_request;
using testing::Identity;
using testing::make_identity;
using testing::Peer;
using testing::TlsPeer;
using testing::TlsServerContext;

class RestTlsTest : public testing::RestFixture {
 protected:
  ~RestTlsTest() override {
    forget_api();
    server.reset();  // before the context that its connections use
  }
  void serve_tls(const std::string& names, const Identity* clients = nullptr,
                 int newest = TLS1_3_VERSION) {
    forget_api();
    server.reset();
    own = make_identity("server", names, &authority);
    context.emplace(own, clients, newest);
    server = std::make_unique<testing::RawServer>(
        [this](Peer& peer, int /*number*/) {
          while (peer.read_request()) {
            asked_for = dynamic_cast<TlsPeer&>(peer).server_name();
            peer.answer("200 OK", "{}");
          }
        },
        context->peers());
    config.server = "https://127.0.0.1:" + server->port();
  }
  /// The message of a call that does not get through; nothing may have been sent.
  std::string refusal() {
    const auto response = api().call(get_request("/x"));
    EXPECT_FALSE(response.has_value());
    if (response) return "";
    EXPECT_EQ(response.error().code, Errc::kUnavailable) << response.error().message;
    return response.error().message;
  }
  bool works() {
    const auto response = api().call(get_request("/x"));
    EXPECT_TRUE(response.has_value()) << response.error().message;
    return response && response->status == 200;
  }

  const Identity authority = make_identity("authority", "", nullptr);
  const Identity stranger = make_identity("stranger", "", nullptr);
  Identity own;
  std::optional<TlsServerContext> context;
  std::string asked_for;
};

using ::testing::HasSubstr;

TEST_F(RestTlsTest, TrustsTheGivenAuthorityAndKeepsTheConnection) {
  serve_tls("IP:127.0.0.1");
  config.ca.text = authority.certificate_pem();
  EXPECT_TRUE(works());
  EXPECT_TRUE(works());
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(RestTlsTest, TrustsNoOther) {
  serve_tls("IP:127.0.0.1");
  config.ca.text = stranger.certificate_pem();
  EXPECT_THAT(refusal(), HasSubstr("nothing was sent: SSL certificate problem"));
  forget_api();
  config.ca.text = "";  // the system's authorities
  EXPECT_THAT(refusal(), HasSubstr("SSL certificate problem"));
}

TEST_F(RestTlsTest, WrongNameIsRefusedUnlessItIsTheOneToExpect) {
  serve_tls("DNS:kubernetes.example");
  config.ca.text = authority.certificate_pem();
  EXPECT_THAT(refusal(), HasSubstr("127.0.0.1"));
  forget_api();
  config.tls_server_name = "kubernetes.example";
  EXPECT_TRUE(works());
  EXPECT_EQ(asked_for, "kubernetes.example");
  forget_api();
  config.tls_server_name = "other.example";
  EXPECT_THAT(refusal(), HasSubstr("other.example"));
}

TEST_F(RestTlsTest, InsecureTakesAnyCertificate) {
  serve_tls("DNS:elsewhere");
  config.insecure_skip_tls_verify = true;
  EXPECT_TRUE(works());
}

TEST_F(RestTlsTest, OldTlsIsRefused) {
  serve_tls("IP:127.0.0.1", nullptr, TLS1_1_VERSION);
  config.ca.text = authority.certificate_pem();
  (void)refusal();
  serve_tls("IP:127.0.0.1", nullptr, TLS1_2_VERSION);
  EXPECT_TRUE(works());
}

TEST_F(RestTlsTest, ShowsItsCertificateWhereOneIsDemanded) {
  const Identity client = make_identity("tangram", "DNS:tangram", &authority);
  // Up to TLS 1.2 a missing certificate ends the handshake; later a client hears of it only after
  // it has sent its request.
  serve_tls("IP:127.0.0.1", &authority, TLS1_2_VERSION);
  config.ca.text = authority.certificate_pem();
  (void)refusal();
  serve_tls("IP:127.0.0.1", &authority, TLS1_3_VERSION);
  EXPECT_FALSE(api().call(get_request("/x")).has_value());
  forget_api();
  config.client_certificate.text = client.certificate_pem();
  config.client_key.text = client.key_pem();
  EXPECT_TRUE(works());
}

TEST_F(RestTlsTest, BadKeyIsUnavailable) {
  serve_tls("IP:127.0.0.1");
  config.ca.text = authority.certificate_pem();
  config.client_certificate.text = authority.certificate_pem();
  config.client_key.text = stranger.key_pem();
  (void)refusal();
}

TEST_F(RestTlsTest, NewAuthorityInTheFileIsTrustedAMinuteLater) {
  serve_tls("IP:127.0.0.1");
  config.ca.file = ::testing::TempDir() + "tangram_rest_tls_ca";
  std::ofstream(config.ca.file) << stranger.certificate_pem();
  EXPECT_THAT(refusal(), HasSubstr("SSL certificate problem"));
  std::ofstream(config.ca.file) << authority.certificate_pem();
  clock.advance(1min);
  EXPECT_TRUE(works());
  // What is no longer trusted is not used, not even over a connection that is still there.
  std::ofstream(config.ca.file) << stranger.certificate_pem();
  clock.advance(1min);
  EXPECT_THAT(refusal(), HasSubstr("SSL certificate problem"));
}

}  // namespace
}  // namespace tangram::kube
