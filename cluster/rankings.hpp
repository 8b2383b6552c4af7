#pragma once

#include "cluster/changed_cluster.hpp"
#include "cluster/open_nodes.hpp"
#include "cluster/places.hpp"
#include "model/placement.hpp"
#include "policies/shape.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tangram::cluster {

/// The best places of a changing cluster for pods: by their policies' scores, on a tie the first
/// node by name, as the extender chooses. Each shape of pod is scored once on all nodes, and then
/// only on nodes that change. Threads: one at a time.
class Rankings {
 public:
  /// @param open      asked about pods that find a place
  /// @param steps     pays a step for each node that is scored
  /// @param searches  pays for pods of several containers
  /// All outlive it.
  Rankings(const model::ClusterSnapshot& cluster, OpenNodes& open, model::SearchBudget& steps,
           model::SearchBudget& searches);

  struct Place {
    model::NodeIndex node = 0;
    model::Placement cards;
  };
  /// @param cluster  of the snapshot; the pod fits beside all that stands there now and that comes
  [[nodiscard]] std::optional<Place> best(const PlacelessPod& pod, const ChangedCluster& cluster);

  /// Where the node stands in the order of names.
  [[nodiscard]] std::uint32_t order_of(model::NodeIndex node) const { return order_[node]; }

 private:
  struct Entry {
    std::int64_t score = 0;
    std::uint32_t order = 0;
    model::NodeIndex node = 0;
    /// The best first.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.score != b.score ? a.score > b.score : a.order < b.order;
    }
  };
  struct Rescored {
    model::NodePtr state;
    std::optional<std::int64_t> score;  ///< nothing = the pod does not fit
  };
  struct Ranking {
    std::vector<Entry> nodes;  ///< with room in the snapshot
    std::map<model::NodeIndex, Rescored> changed;
  };
  struct Key {
    const policies::Policy* policy = nullptr;
    model::PodDemand shape;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return policies::ShapeHash()(key.shape) ^ std::hash<const void*>()(key.policy);
    }
  };

  [[nodiscard]] Ranking& ranking_of(const PlacelessPod& pod);
  [[nodiscard]] std::optional<std::int64_t> score(const PodPlan& plan,
                                                  const model::NodeState& node);
  [[nodiscard]] std::optional<Entry> best_unchanged(const PlacelessPod& pod, const Ranking& ranking,
                                                    const ChangedCluster& cluster);
  [[nodiscard]] std::optional<Entry> best_changed(const PlacelessPod& pod, Ranking& ranking,
                                                  const ChangedCluster& cluster);

  OpenNodes& open_;
  model::SearchBudget& steps_;
  model::SearchBudget& searches_;
  const std::vector<model::ClusterSnapshot::Found> nodes_;  ///< all that are present
  std::vector<std::uint32_t> order_;                        ///< by NodeIndex
  std::unordered_map<Key, Ranking, KeyHash> by_shape_;
};

}  // namespace tangram::cluster
