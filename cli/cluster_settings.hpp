#pragma once

#include "cluster/policy_source.hpp"
#include "kube/api.hpp"

#include <string>

namespace tangram::cli {

/// The extender's settings that decide where pods go.
struct ClusterSettings {
  cluster::PolicySettings policy;
  std::string assumed;  ///< why the defaults are used; empty = read from the extender's ConfigMap
};

/// The ConfigMap of deploy/scheduler and its key.
inline constexpr const char* kExtenderName = "tangram-extender";
inline constexpr const char* kConfigKey = "tangram.yaml";
inline constexpr const char* kSystemNamespace = "tangram-system";

/// Reads the extender's ConfigMap. Without it, or without the right to read it, returns the
/// defaults, which most clusters have.
[[nodiscard]] ClusterSettings read_cluster_settings(kube::KubeApi& api,
                                                    const std::string& system_namespace);

}  // namespace tangram::cli
