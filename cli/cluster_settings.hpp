#pragma once

#include "cluster/policy_source.hpp"
#include "kube/api.hpp"

#include <string>

namespace tangram::cli {

/// How this cluster's extender decides, as far as it can be known.
struct ClusterSettings {
  cluster::PolicySettings policy;
  std::string assumed;  ///< why the defaults are taken, for people; empty = they are the extender's
};

/// The ConfigMap of deploy/scheduler and its key.
inline constexpr const char* kExtenderName = "tangram-extender";
inline constexpr const char* kConfigKey = "tangram.yaml";
inline constexpr const char* kSystemNamespace = "tangram-system";

/// Reads the extender's ConfigMap. Without it, or the right to read it, the defaults: they are
/// what most clusters have.
[[nodiscard]] ClusterSettings read_cluster_settings(kube::KubeApi& api,
                                                    const std::string& system_namespace);

}  // namespace tangram::cli
