// The contract through a client and a socket: LocalApi, served over HTTP, by RestApi.
#include "kube/local_api.hpp"
#include "kube/rest_api.hpp"
#include "tests/kube/api_contract.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/manual_clock.hpp"

namespace tangram::testing {
namespace {

class ServedServer final : public ContractServer {
 public:
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
    kube::RestConfig config;
    config.server = server_->url();
    return config;
  }

  ManualClock local_clock_;
  SystemClock clock_;
  kube::LocalApi local_{local_clock_};
  std::unique_ptr<ApiServer> server_ = *ApiServer::start(local_);
  std::unique_ptr<kube::RestApi> client_ = *kube::RestApi::create(config(), {}, clock_);
  int namespaces_ = 0;
};

INSTANTIATE_TEST_SUITE_P(RestApi, ApiContract,
                         ::testing::Values(ContractParam{
                             "OverHttp", [] { return std::make_unique<ServedServer>(); }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::testing
