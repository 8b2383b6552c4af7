#pragma once

#include "base/result.hpp"
#include "cli/cluster.hpp"
#include "kube/api.hpp"

#include <string>

/// The extender's pages /api/v1/cluster and /api/v1/explain: read from a running extender, which
/// also knows its reservations, or computed here from the cluster's objects.
namespace tangram::cli {

/// A running extender.
struct ExtenderAt {
  kube::KubeApi& api;  ///< its own server, or the API server
  std::string prefix;  ///< "", or the path of the API server's proxy to it
};

/// The path of the API server's proxy to the extender's Service. An extender with tls.client_ca
/// rejects the proxy, because the API server presents no client certificate.
[[nodiscard]] std::string service_proxy(const std::string& system_namespace);

/// @returns kNotFound, kUnavailable
Result<std::string> cluster_page(const ExtenderAt& extender);
[[nodiscard]] std::string cluster_page(const Cluster& cluster);

/// A pod with invalid annotations has the finding RequestInvalid, and no nodes.
/// @returns kNotFound if no such pod is pending or bound; else as above
Result<std::string> explain_page(const ExtenderAt& extender, const std::string& ns,
                                 const std::string& pod);
Result<std::string> explain_page(const Cluster& cluster, const std::string& ns,
                                 const std::string& pod);

}  // namespace tangram::cli
