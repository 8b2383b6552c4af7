// The contract through a client and a socket: LocalApi, served over HTTP and HTTPS, by RestApi.
#include "kube/local/api.hpp"
#include "kube/rest/rest_api.hpp"
#include "tests/kube/api_contract.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/tls.hpp"

namespace tangram::testing {
namespace {

/// How the two know each other.
struct Terms {
  ApiServer::Options server;
  kube::RestConfig client;
};

/// Both show a certificate, and the client a token.
Terms tls_terms() {
  static const Identity kAuthority = make_identity("authority", "", nullptr);
  static const Identity kServer = make_identity("server", "IP:127.0.0.1", &kAuthority);
  static const Identity kClient = make_identity("client", "DNS:client", &kAuthority);
  Terms terms;
  terms.server.tls = {kServer.certificate_pem(), kServer.key_pem(), kAuthority.certificate_pem()};
  terms.server.bearer_token = "sesame";
  terms.client.ca.text = kAuthority.certificate_pem();
  terms.client.client_certificate.text = kClient.certificate_pem();
  terms.client.client_key.text = kClient.key_pem();
  terms.client.token.text = "sesame";
  return terms;
}

class ServedServer final : public ContractServer {
 public:
  explicit ServedServer(Terms terms = {})
      : terms_(std::move(terms)),
        server_(*ApiServer::start(local_, terms_.server)),
        client_(*kube::RestApi::create(config(), {}, clock_)) {}

  kube::KubeApi& api() override { return *client_; }
  std::string fresh_namespace() override {
    const std::string name = "ns-" + std::to_string(++namespaces_);
    const auto made = local_.call(namespace_request(name));
    EXPECT_EQ(made->status, 201) << made->body;
    return name;
  }
  bool expire_history() override {
    local_.compact();
    return true;
  }

 private:
  [[nodiscard]] kube::RestConfig config() const {
    kube::RestConfig config = terms_.client;
    config.server = server_->url();
    return config;
  }

  const Terms terms_;
  ManualClock local_clock_;
  SystemClock clock_;
  kube::LocalApi local_{local_clock_};
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<kube::RestApi> client_;
  int namespaces_ = 0;
};

INSTANTIATE_TEST_SUITE_P(
    RestApi, ApiContract,
    ::testing::Values(ContractParam{"OverHttp", [] { return std::make_unique<ServedServer>(); }},
                      ContractParam{"OverHttps",
                                    [] { return std::make_unique<ServedServer>(tls_terms()); }}),
    [](const auto& test) { return test.param.name; });

TEST(ServedOverTlsTest, WantsTheCertificateAndTheToken) {
  const auto answer = [](const Terms& terms) {
    return ServedServer(terms).api().call(get_request("/api/v1/nodes"));
  };
  Terms terms = tls_terms();
  EXPECT_EQ(answer(terms)->status, 200);
  terms.client.token.text = "other";
  EXPECT_EQ(answer(terms)->status, 401);
  terms.client.client_certificate = {};
  terms.client.client_key = {};
  EXPECT_FALSE(answer(terms).has_value());
}

TEST(ServedOverTlsTest, RefusesTextsThatAreNoPem) {
  const ManualClock clock;
  kube::LocalApi local(clock);
  for (auto spoil :
       {&ApiServer::Tls::certificate, &ApiServer::Tls::key, &ApiServer::Tls::client_ca}) {
    ApiServer::Options options = tls_terms().server;
    (*options.tls).*spoil = "no PEM";
    const auto started = ApiServer::start(local, options);
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().code, Errc::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tangram::testing
