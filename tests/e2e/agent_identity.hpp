#pragma once

#include "tests/e2e/cluster.hpp"

#include <string>

namespace tangram::e2e {

/// An agent's rights as deploy/node gives them: a pod of the agent's account on a node, and a token
/// for that pod, as kubelet requests it.
class AgentIdentity {
 public:
  /// @param node  an existing node
  AgentIdentity(Cluster& cluster, const std::string& node);
  ~AgentIdentity();
  AgentIdentity(const AgentIdentity&) = delete;
  AgentIdentity& operator=(const AgentIdentity&) = delete;

  [[nodiscard]] const std::string& kubeconfig() const { return kubeconfig_; }

  /// rbac.yaml and a policy, as shipped.
  static void apply_rights(const std::string& policy = "policy.yaml");

 private:
  void remove() const;

  Cluster& cluster_;
  std::string pod_;
  std::string kubeconfig_;
};

/// @returns a kubeconfig with a token of the agent's account that is bound to no pod
[[nodiscard]] std::string agent_without_node();

}  // namespace tangram::e2e
