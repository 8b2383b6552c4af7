#pragma once

#include "base/result.hpp"
#include "kube/disruption_budget.hpp"
#include "model/node_state.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Which nodes take which pods, by kube-scheduler's rules that the ledger does not know.
namespace tangram::cluster {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  ///< "NoSchedule", "PreferNoSchedule", "NoExecute"
};
/// Of a Node.
struct NodeRules {
  model::Labels labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  bool ready = true;  ///< false only if its condition Ready says so
};

struct Toleration {
  std::string key;  ///< empty = of every taint
  std::string op;   ///< "Equal", also if empty, or "Exists"
  std::string value;
  std::string effect;       ///< empty = every one
  bool for_a_time = false;  ///< tolerationSeconds: the pod is evicted after that
};
/// Of a Pod, and so of the next pods of its controller.
struct PodRules {
  model::Labels node_selector;
  std::vector<Toleration> tolerations;
  bool has_node_affinity = false;                  ///< that is required
  std::vector<kube::LabelSelector> node_affinity;  ///< one of them must match
  /// A rule whose outcome cannot be told from nodes alone: "it must not run beside certain pods";
  /// "" = it has none.
  std::string open_rule;
  bool has_anti_affinity = false;  ///< to other pods, and required
  std::int64_t grace_s = 30;       ///< terminationGracePeriodSeconds
};

/// @returns kInvalidArgument, with the path of what is wrong
Result<NodeRules> read_node_rules(std::string node);
Result<PodRules> read_pod_rules(std::string pod);

/// For callers that leave the rest to kube-scheduler: without the open rule, and without the terms
/// of an affinity to nodes that are not known here.
[[nodiscard]] PodRules known_rules(PodRules rules);

/// False in case of doubt: rules that are not known match nothing.
[[nodiscard]] bool takes(const NodeRules& node, const PodRules& pod);

}  // namespace tangram::cluster
