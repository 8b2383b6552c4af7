#pragma once

#include "kube/api.hpp"
#include "tests/testing/api_server.hpp"
#include "tests/testing/fault_api.hpp"

#include <memory>
#include <string>

namespace tangram::e2e {

/// A proxy between one extender or agent and the API server. It has that client's rights and
/// injects the faults of a test. Threads: safe.
class ApiProxy {
 public:
  /// @param name    of its kubeconfig
  /// @param rights  a kubeconfig; "" = the extender's
  explicit ApiProxy(const std::string& name, const std::string& rights = "");

  [[nodiscard]] const std::string& kubeconfig() const { return kubeconfig_; }
  [[nodiscard]] testing::FaultPlan& plan() { return faults_.plan(); }
  [[nodiscard]] testing::ApiServer& server() { return *server_; }

 private:
  std::unique_ptr<kube::KubeApi> api_;
  testing::FaultApi faults_;
  std::unique_ptr<testing::ApiServer> server_;
  std::string kubeconfig_;
};

}  // namespace tangram::e2e
