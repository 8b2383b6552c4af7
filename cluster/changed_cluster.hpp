#pragma once

#include "model/snapshot.hpp"

#include <map>
#include <string>
#include <vector>

namespace tangram::cluster {

/// A cluster with planned changes. Copies are cheap: only the nodes that change are its own.
/// Threads: one at a time.
class ChangedCluster {
 public:
  struct Node {
    model::NodePtr after;    ///< once all is done: who leaves is gone, who comes is there
    model::NodePtr crowded;  ///< with all that stands there now and all that comes
    [[nodiscard]] bool somebody_leaves() const { return after != crowded; }
  };

  /// @param before  outlives it
  explicit ChangedCluster(const model::ClusterSnapshot& before) : before_(&before) {}

  // All of nodes that the snapshot has.

  void leave(model::NodeIndex index, const std::vector<std::string>& pod_uids);
  /// The pod is marked as a reservation: it is not one that could leave.
  void come(model::NodeIndex index, model::Allocation pod);

  [[nodiscard]] const model::NodeState& after(model::NodeIndex index) const;
  [[nodiscard]] const model::NodeState& crowded(model::NodeIndex index) const;
  [[nodiscard]] const model::ClusterSnapshot& before() const { return *before_; }
  [[nodiscard]] const std::map<model::NodeIndex, Node>& changed() const { return changed_; }

 private:
  Node& own(model::NodeIndex index);
  [[nodiscard]] const model::NodeState& unchanged(model::NodeIndex index) const;

  const model::ClusterSnapshot* before_;
  std::map<model::NodeIndex, Node> changed_;
};

}  // namespace tangram::cluster
