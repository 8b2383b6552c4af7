#include "cluster/views.hpp"

#include "base/json.hpp"
#include "cluster/packing_json.hpp"

namespace tangram::cluster {

namespace {

using json::Writer;
using model::NodeState;

model::AllocationPtr find_bound(const model::ClusterSnapshot& cluster, std::string_view ns,
                                std::string_view name) {
  model::AllocationPtr found;
  cluster.for_each([&](const NodeState& node) {
    for (const model::AllocationPtr& allocation : node.allocations) {
      if (!allocation->tentative && allocation->pod_name == name && allocation->pod_namespace == ns)
        found = allocation;
    }
  });
  return found;
}

}  // namespace

std::string cluster_json(const model::ClusterSnapshot& cluster, const PodTable& pods) {
  std::string text;
  Writer out(text);
  out.begin_object().member("version", static_cast<std::int64_t>(cluster.version()));
  out.key("nodes").begin_array();
  for (const NodeState* node : cluster.sorted_nodes())
    write_packed_node(out, model::granted_only(*node));
  out.end_array().key("pending").begin_array();
  for (const PodPtr& pod : pods.pending()) {
    write_waiting_pod(out, *pod);
  }
  out.end_array().end_object();
  return text;
}

Result<std::string> explain_json(std::string_view ns, std::string_view name,
                                 const model::ClusterSnapshot& cluster, const PodTable& pods,
                                 const PolicySource& policies,
                                 std::optional<std::size_t> most_nodes,
                                 const KnownToExplain& known) {
  if (const PodPtr pod = pods.find(ns, name)) {
    const auto plan = policies.plan(*pod);
    if (!plan) return plan.error();
    return explain_pending(*pod, *plan, cluster, pods, policies, most_nodes, known);
  }
  if (const auto allocation = find_bound(cluster, ns, name)) {
    return explain_bound(*allocation, cluster, pods);
  }
  return fail(Errc::kNotFound, "no pod " + std::string(ns) + "/" + std::string(name) +
                                   " waits for a node or is bound to one");
}

}  // namespace tangram::cluster
