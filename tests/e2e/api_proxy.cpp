#include "tests/e2e/api_proxy.hpp"

#include "tests/e2e/environment.hpp"

#include <fstream>
#include <stdexcept>

namespace tangram::e2e {

ApiProxy::ApiProxy(const std::string& name, const std::string& rights)
    : api_(open_api(rights.empty() ? environment().extender_kubeconfig : rights)),
      faults_(*api_, testing::FaultApi::Record::kNothing),
      kubeconfig_(environment().state / (name + ".kubeconfig")) {
  auto server = testing::ApiServer::start(faults_);
  if (!server) throw std::runtime_error(server.error().message);
  server_ = std::move(*server);
  std::ofstream(kubeconfig_) << "{apiVersion: v1, kind: Config, current-context: e2e, "
                                "contexts: [{name: e2e, context: {cluster: e2e, user: e2e}}], "
                                "clusters: [{name: e2e, cluster: {server: \""
                             << server_->url() << "\"}}], users: [{name: e2e, user: {}}]}\n";
}

}  // namespace tangram::e2e
