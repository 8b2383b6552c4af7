// The contract against a real kube-apiserver: the one that $TANGRAM_E2E_KUBECONFIG names. Skips
// without. The user of the kubeconfig may do everything; what the tests make, they delete. No node
// of the cluster may be called n1 or n2.
#include "kube/rest/rest_api.hpp"
#include "tests/kube/api_contract.hpp"

#include <array>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>

namespace tangram::testing {
namespace {

constexpr const char* kVariable = "TANGRAM_E2E_KUBECONFIG";

std::string random_word() {
  std::random_device random;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

class RealServer final : public ContractServer {
 public:
  explicit RealServer(std::unique_ptr<kube::RestApi> api) : api_(std::move(api)) {}
  ~RealServer() override {
    for (const std::string& name : namespaces_) {
      (void)api_->call(write_request(kube::Method::kDelete, "/api/v1/namespaces/" + name, ""));
    }
  }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  kube::KubeApi& api() override { return *api_; }
  std::string fresh_namespace() override {
    const std::string name = "tangram-contract-" + random_word();
    const auto made = api_->call(namespace_request(name));
    if (!made || made->status != 201) {
      throw std::runtime_error("cannot make a namespace: " +
                               (made ? made->body : made.error().message));
    }
    namespaces_.push_back(name);
    await_pods_welcome(name);
    return name;
  }
  /// etcd forgets after minutes only, and at its own time.
  bool expire_history() override { return false; }

 private:
  /// A cluster that gives every pod a service account takes none before the namespace has one.
  void await_pods_welcome(const std::string& ns) {
    auto probe = write_request(kube::Method::kPost, "/api/v1/namespaces/" + ns + "/pods",
                               pod_json({.ns = ns}));
    probe.query = {{"dryRun", "All"}};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      const auto answer = api_->call(probe);
      if (answer && answer->status == 201) return;
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("no pod is welcome in a new namespace: " +
                                 (answer ? answer->body : answer.error().message));
      }
      // The cluster says when it is ready by no other way.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::unique_ptr<kube::RestApi> api_;
  std::vector<std::string> namespaces_;
};

std::unique_ptr<ContractServer> connect() {
  static const SystemClock kClock;
  const char* path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return nullptr;
  const auto config = kube::read_kubeconfig(path);
  if (!config) throw std::runtime_error(config.error().message);
  auto api = kube::RestApi::create(*config, {.user_agent = "tangram-contract-test"}, kClock);
  if (!api) throw std::runtime_error(api.error().message);
  return std::make_unique<RealServer>(std::move(*api));
}

INSTANTIATE_TEST_SUITE_P(RealApi, ApiContract,
                         ::testing::Values(ContractParam{"Kubernetes", connect}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tangram::testing
