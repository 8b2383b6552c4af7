#pragma once

#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "kube/api.hpp"

#include <string>

/// The extender's pages /api/v1/cluster and /api/v1/explain: from one that runs, which also knows
/// what it holds in memory, or made here from the cluster's objects.
namespace tangram::cli {

/// A running extender.
struct ExtenderAt {
  kube::KubeApi& api;  ///< its own server, or the API server
  std::string prefix;  ///< "", or the path of the API server's proxy to it
};

/// The prefix of the extender's Service behind the API server. It asks for a client certificate
/// where it has tls.client_ca, and the API server shows none.
[[nodiscard]] std::string service_proxy(const std::string& system_namespace);

/// @returns kUnavailable, kConflict as get(); the message says what to do
Result<std::string> cluster_page(const ExtenderAt& extender);
[[nodiscard]] std::string cluster_page(const Cluster& cluster);

/// Of a pod whose annotations are wrong it has the finding RequestInvalid, and no nodes.
/// @returns kNotFound if no such pod waits or is bound; else as above
Result<std::string> explain_page(const ExtenderAt& extender, const std::string& ns,
                                 const std::string& pod);
Result<std::string> explain_page(const Cluster& cluster, const std::string& ns,
                                 const std::string& pod);

}  // namespace tangram::cli
