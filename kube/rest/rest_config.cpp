#include "kube/rest/rest_config.hpp"

#include "base/file.hpp"

#include <string_view>

namespace tangram::kube {

namespace {

constexpr std::string_view kAccountFolder = "var/run/secrets/kubernetes.io/serviceaccount/";

}  // namespace

Result<RestConfig> in_cluster_config(const Environment& environment, const std::string& root) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return fail(Errc::kNotFound,
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is no "
                "pod of a cluster; write kube.source: kubeconfig to run outside of one");
  }
  const bool ipv6 = host.find(':') != std::string::npos;
  RestConfig config;
  config.server = "https://" + (ipv6 ? "[" + host + "]" : host) + ":" + port;
  const std::string folder = root + std::string(kAccountFolder);
  config.token.file = folder + "token";
  config.ca.file = folder + "ca.crt";
  for (const std::string& file : {config.token.file, config.ca.file}) {
    if (read_file(file)) continue;
    return fail(Errc::kNotFound, file +
                                     ": cannot be read; give the pod a service account, and leave "
                                     "automountServiceAccountToken on");
  }
  return config;
}

Result<std::string> account_namespace(const std::string& root) {
  return read_file(root + std::string(kAccountFolder) + "namespace");
}

}  // namespace tangram::kube
