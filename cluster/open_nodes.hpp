#pragma once

#include "kube/objects.hpp"
#include "model/placement.hpp"
#include "model/snapshot.hpp"

#include <functional>
#include <unordered_map>
#include <vector>

namespace tangram::cluster {

/// Which nodes take which pods, by all that the ledger does not know. Threads: one at a time.
class OpenNodes {
 public:
  using Takes = std::function<bool(const kube::Pod&, const model::NodeState&)>;

  /// @param takes  as MoveQuestion::takes
  /// @param steps  pays a step for each question
  /// All outlive it.
  OpenNodes(const model::ClusterSnapshot& cluster, const Takes& takes, model::SearchBudget& steps)
      : cluster_(cluster), takes_(takes), steps_(steps) {}

  /// A node that has refused the pod once is not asked again.
  /// @param pod   outlives it
  /// @param node  of the snapshot
  [[nodiscard]] bool take(const kube::Pod& pod, model::NodeIndex node);

 private:
  const model::ClusterSnapshot& cluster_;
  const Takes& takes_;
  model::SearchBudget& steps_;
  std::unordered_map<const kube::Pod*, std::vector<bool>> refused_;  ///< by NodeIndex
};

}  // namespace tangram::cluster
