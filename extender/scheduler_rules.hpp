#pragma once

#include "base/result.hpp"
#include "cluster/findings.hpp"
#include "cluster/node_rules.hpp"
#include "kube/api.hpp"
#include "kube/list_pages.hpp"
#include "kube/objects.hpp"

#include <chrono>
#include <map>
#include <string>

/// Objects with the rules by which kube-scheduler places pods, read from the API server: they are
/// not kept of all pods and nodes of a cluster. Errors: kNotFound, kConflict if the server forbids
/// it; kUnavailable and kTimeout: another try may succeed.
namespace tangram::extender {

struct RuledPod {
  kube::Pod pod;
  cluster::PodRules rules;
};
/// @returns kNotFound also if another pod of that name exists
Result<RuledPod> read_ruled_pod(kube::KubeApi& api, const cluster::PodName& pod,
                                std::chrono::milliseconds timeout);

/// Of all nodes that can be read, by name.
using NodeRulesByName = std::map<std::string, cluster::NodeRules, std::less<>>;
Result<NodeRulesByName> list_node_rules(kube::KubeApi& api, std::chrono::milliseconds timeout);
/// Of one node. By a list, which needs no other right than the watch does.
Result<cluster::NodeRules> read_node_rules(kube::KubeApi& api, const std::string& node,
                                           std::chrono::milliseconds timeout);

/// Calls `item` with each object of a list.
Result<void> list_objects(kube::KubeApi& api, const kube::Request& request,
                          const kube::ListPages::Item& item);

}  // namespace tangram::extender
