#pragma once

#include "cluster/policy_source.hpp"
#include "config/config.hpp"
#include "kube/api.hpp"
#include "kube/grant_keys.hpp"

#include <memory>
#include <optional>
#include <string>

namespace tangram::cli {

/// The extender's settings: what decides where pods go, and which grants count.
struct ClusterSettings {
  cluster::PolicySettings policy = {};
  std::optional<config::Config> config = std::nullopt;  ///< nothing = the defaults are used
  std::unique_ptr<kube::GrantKeys> keys = nullptr;      ///< null = signatures are not checked
  std::string assumed = {};    ///< why the defaults are used; empty = the ConfigMap was read
  std::string problem = {};    ///< that reason alone
  std::string unchecked = {};  ///< why signatures are not checked; empty = they are, or the
                               ///< extender does not look at them either

  /// Refers to `keys`.
  [[nodiscard]] model::SignatureCheck check() const;
};

/// The ConfigMap of deploy/scheduler and its key.
inline constexpr const char* kExtenderName = "tangram-extender";
inline constexpr const char* kConfigKey = "tangram.yaml";
/// The ConfigMap that brings the public keys of grants to agents and extenders.
inline constexpr const char* kGrantKeysName = "tangram-grant-keys";
inline constexpr const char* kSystemNamespace = "tangram-system";

/// Reads the extender's ConfigMap, and the public keys if it names any. Without it, or without the
/// right to read it, returns the defaults, which most clusters have.
[[nodiscard]] ClusterSettings read_cluster_settings(kube::KubeApi& api,
                                                    const std::string& system_namespace);

}  // namespace tangram::cli
