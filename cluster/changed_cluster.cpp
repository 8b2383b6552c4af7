#include "cluster/changed_cluster.hpp"

#include <cassert>
#include <memory>
#include <utility>

namespace tangram::cluster {

namespace {

using model::NodeIndex;
using model::NodeState;

}  // namespace

ChangedCluster::Node& ChangedCluster::own(NodeIndex index) {
  const auto found = changed_.find(index);
  if (found != changed_.end()) return found->second;
  const model::NodePtr node = before_->share(index);
  return changed_.insert_or_assign(index, Node{.after = node, .crowded = node}).first->second;
}

void ChangedCluster::leave(NodeIndex index, const std::vector<std::string>& pod_uids) {
  Node& node = own(index);
  node.after = std::make_shared<const NodeState>(model::without_pods(*node.after, pod_uids));
}

void ChangedCluster::come(NodeIndex index, model::Allocation pod) {
  pod.tentative = true;
  Node& node = own(index);
  const bool one = !node.somebody_leaves();
  node.crowded = std::make_shared<const NodeState>(model::with_pod(*node.crowded, pod));
  node.after =
      one ? node.crowded : std::make_shared<const NodeState>(model::with_pod(*node.after, pod));
}

const NodeState& ChangedCluster::after(NodeIndex index) const {
  const auto found = changed_.find(index);
  return found == changed_.end() ? unchanged(index) : *found->second.after;
}

const NodeState& ChangedCluster::crowded(NodeIndex index) const {
  const auto found = changed_.find(index);
  return found == changed_.end() ? unchanged(index) : *found->second.crowded;
}

const NodeState& ChangedCluster::unchanged(NodeIndex index) const {
  const NodeState* node = before_->at(index);
  assert(node != nullptr);
  return *node;
}

}  // namespace tangram::cluster
