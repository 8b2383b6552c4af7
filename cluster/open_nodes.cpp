#include "cluster/open_nodes.hpp"

namespace tangram::cluster {

bool OpenNodes::take(const kube::Pod& pod, model::NodeIndex node) {
  const auto known = refused_.find(&pod);
  if (known != refused_.end() && known->second[node]) return false;
  steps_.spend(1);
  if (takes_(pod, *cluster_.at(node))) return true;
  std::vector<bool>& refused = refused_[&pod];
  refused.resize(cluster_.slots());
  refused[node] = true;
  return false;
}

}  // namespace tangram::cluster
