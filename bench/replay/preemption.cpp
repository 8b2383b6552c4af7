#include "bench/replay/preemption.hpp"

#include "cluster/victims.hpp"
#include "policies/registry.hpp"

#include <map>

namespace tangram::bench {

std::optional<Preempted> preempt(const Trace& trace, const TracePod& pod,
                                 const model::ClusterSnapshot& cluster,
                                 const std::function<bool(std::size_t)>& works) {
  std::vector<const model::NodeState*> nodes;
  std::map<std::string_view, std::size_t> index;
  for (std::size_t node = 0; node < trace.nodes.size(); ++node) {
    if (!works(node)) continue;
    nodes.push_back(cluster.find(trace.nodes[node].name));
    index.emplace(trace.nodes[node].name, node);
  }
  const auto fit = policies::make_policy("bestfit", {});  // what fits is the same for all policies
  const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
  const auto found = cluster::expected_preemption(demand, **fit, pod.priority, {}, nodes);
  if (!found) return std::nullopt;
  Preempted preempted{.node = index.at(found->node), .victims = {}};
  for (const auto& victim : found->victims.pods) {
    preempted.victims.push_back(number_of(victim->pod_name));
  }
  return preempted;
}

}  // namespace tangram::bench
