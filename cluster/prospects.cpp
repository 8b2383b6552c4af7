#include "cluster/prospects.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tangram::cluster {

Prospects::Prospects(const model::ClusterSnapshot& cluster, const Rankings& rankings,
                     Movable movable, model::SearchBudget& steps)
    : cluster_(cluster),
      rankings_(rankings),
      movable_(std::move(movable)),
      steps_(steps),
      loads_(cluster.slots()) {
  cluster.for_each_present([&](const model::ClusterSnapshot::Found& found) {
    steps_.spend(1);
    loads_[found.index] = load_of(*found.node, movable_);
  });
}

void Prospects::add(const model::PodDemand& demand, model::NodeIndex index,
                    const model::NodeState& node, const NodeLoad& load, std::vector<Prospect>& to) {
  steps_.spend(1);
  const auto effort = least_effort(demand, node, load);
  if (effort) to.push_back({*effort, rankings_.order_of(index), index});
}

const std::vector<Prospect>& Prospects::before(const model::PodDemand& demand) {
  const auto [entry, is_new] = by_shape_.try_emplace(policies::shape_of(demand));
  std::vector<Prospect>& nodes = entry->second;
  if (is_new) {
    cluster_.for_each_present([&](const model::ClusterSnapshot::Found& found) {
      add(demand, found.index, *found.node, loads_[found.index], nodes);
    });
    std::sort(nodes.begin(), nodes.end());
  }
  return nodes;
}

std::vector<Prospect> Prospects::of(const model::PodDemand& demand, const ChangedCluster& cluster) {
  const std::vector<Prospect>& unchanged = before(demand);
  std::vector<Prospect> all;
  all.reserve(unchanged.size());
  std::ranges::copy_if(unchanged, std::back_inserter(all),
                       [&](const Prospect& one) { return !cluster.changed().contains(one.node); });
  const auto first_changed = static_cast<std::ptrdiff_t>(all.size());
  for (const auto& [index, node] : cluster.changed()) {
    add(demand, index, *node.after, load_of(*node.after, movable_), all);
  }
  std::sort(all.begin() + first_changed, all.end());
  std::inplace_merge(all.begin(), all.begin() + first_changed, all.end());
  return all;
}

}  // namespace tangram::cluster
