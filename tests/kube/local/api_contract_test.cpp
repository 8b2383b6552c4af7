#include "tests/kube/api_contract.hpp"

#include "kube/local/api.hpp"
#include "tests/testing/manual_clock.hpp"

namespace tangram::testing {
namespace {

class LocalServer final : public ContractServer {
 public:
  kube::KubeApi& api() override { return api_; }
  std::string fresh_namespace() override {
    const std::string name = "ns-" + std::to_string(++namespaces_);
    const auto made = api_.call(namespace_request(name));
    EXPECT_EQ(made->status, 201) << made->body;
    return name;
  }
  bool expire_history() override {
    api_.compact();
    return true;
  }

 private:
  ManualClock clock_;
  kube::LocalApi api_{clock_};
  int namespaces_ = 0;
};

INSTANTIATE_TEST_SUITE_P(LocalApi, ApiContract,
                         ::testing::Values(ContractParam{
                             "InMemory", [] { return std::make_unique<LocalServer>(); }}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::testing
