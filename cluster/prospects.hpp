#pragma once

#include "cluster/changed_cluster.hpp"
#include "cluster/effort.hpp"
#include "cluster/rankings.hpp"
#include "policies/shape.hpp"

#include <cstdint>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tangram::cluster {

/// A node on which room could be made.
struct Prospect {
  Effort effort;            ///< least_effort()
  std::uint32_t order = 0;  ///< by name
  model::NodeIndex node = 0;
  /// The most promising first.
  friend bool operator<(const Prospect& a, const Prospect& b) {
    return std::tie(a.effort, a.order) < std::tie(b.effort, b.order);
  }
};

/// The nodes of a changing cluster on which room could be made. Looks at each node's allocations
/// once, at each node once for a shape of pod, and then only at nodes that change. Threads: one at
/// a time.
class Prospects {
 public:
  using Movable = std::function<bool(const model::Allocation&)>;

  /// @param steps  pays a step for each look at a node
  /// All but `movable` outlive it.
  Prospects(const model::ClusterSnapshot& cluster, const Rankings& rankings, Movable movable,
            model::SearchBudget& steps);

  /// @param cluster  of the snapshot
  /// @returns the most promising first
  [[nodiscard]] std::vector<Prospect> of(const model::PodDemand& demand,
                                         const ChangedCluster& cluster);

 private:
  void add(const model::PodDemand& demand, model::NodeIndex index, const model::NodeState& node,
           const NodeLoad& load, std::vector<Prospect>& to);
  /// Sorted.
  [[nodiscard]] const std::vector<Prospect>& before(const model::PodDemand& demand);

  const model::ClusterSnapshot& cluster_;
  const Rankings& rankings_;
  const Movable movable_;
  model::SearchBudget& steps_;
  std::vector<NodeLoad> loads_;  ///< by NodeIndex
  std::unordered_map<model::PodDemand, std::vector<Prospect>, policies::ShapeHash> by_shape_;
};

}  // namespace tangram::cluster
