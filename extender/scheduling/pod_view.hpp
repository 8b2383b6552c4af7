#pragma once

#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "extender/scheduling/promises.hpp"
#include "model/snapshot.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::extender {

/// The cluster as one pod may use it: a snapshot in which single nodes are replaced, because
/// the pod's own reservation does not count against it, and what is kept for a pod that
/// preempted others does.
/// Refers to the snapshot, which must outlive it. Threads: several may read it at a time.
class PodView {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a snapshot as it stands is a view too
  PodView(const model::ClusterSnapshot& cluster) : cluster_(&cluster) {}

  [[nodiscard]] const model::ClusterSnapshot& cluster() const { return *cluster_; }

  /// @returns null for a node that is seen as it stands in the snapshot
  [[nodiscard]] const model::NodeState* replacement(std::string_view name) const {
    if (replaced_.empty()) return nullptr;
    const auto found = replaced_.find(name);
    return found == replaced_.end() ? nullptr : &found->second;
  }
  static model::ClusterSnapshot::Found made_up(const model::NodeState& node) {
    return {.least_priority = node.least_priority, .node = &node};
  }
  /// @returns nothing for a node that is not known or not present
  [[nodiscard]] std::optional<model::ClusterSnapshot::Found> lookup(std::string_view name) const {
    const auto* replaced = replacement(name);
    return replaced ? made_up(*replaced) : cluster_->lookup(name);
  }
  /// The same for many names, each to its place; null where there is no such node.
  void lookup(std::span<const std::string_view> names,
              std::span<model::ClusterSnapshot::Found> found) const;
  /// @returns null for a node that is not known or not present
  [[nodiscard]] const model::NodeState* find(std::string_view name) const;
  void replace(model::NodeState node);

 private:
  const model::ClusterSnapshot* cluster_;
  std::map<std::string, model::NodeState, std::less<>> replaced_;
};

/// The node without the pods that are terminating, and without these.
/// @param evicted  UIDs of pods that leave, though the watch may not show that yet
[[nodiscard]] model::NodeState without_leaving(const model::NodeState& node,
                                               std::vector<std::string> evicted);

/// A pod that is nominated to a node.
struct Nominee {
  cluster::PodPtr pod;
  std::vector<std::string> evicted;  ///< UIDs of pods that leave the node for it
};

/// The node with the room kept that belongs to pods nominated to it: those that preempted others
/// there and wait for them to end. kube-scheduler counts them in its own filters and does not
/// tell extenders. A nominated pod that would fit only after the terminating pods of the node are
/// gone keeps the cards that it would get then.
/// @param nominated  pods nominated to this node, the most important first
[[nodiscard]] model::NodeState keep_room(const model::NodeState& node,
                                         const std::vector<Nominee>& nominated,
                                         const cluster::PolicySource& policies);

/// Where to find the pods that others were evicted for.
struct Nominations {
  const cluster::PodTable& shown;  ///< by the API server
  const Promises& promised;        ///< and perhaps not shown yet, or cleared again
};

/// Those of the pending pods that are nominated to a node and whose room `pod` must respect:
/// kube-scheduler's rule, of equal or higher priority, and not itself. By node, the most
/// important first.
[[nodiscard]] std::map<std::string, std::vector<Nominee>, std::less<>> nominated_above(
    const Nominations& nominations, std::string_view pod_uid, int priority);

/// Replaces in the view what `pod` must see otherwise.
/// @param held_on  the node on which room is reserved for the pod; empty = none
void fit_to_pod(PodView& view, const kube::Pod& pod, std::string_view held_on,
                const Nominations& nominations, const cluster::PolicySource& policies);

/// Does the node take the pod once its terminating pods are gone, and only then?
/// @param victims  promised to the pod there. As soon as one terminates, all count as terminating:
///                 kube-scheduler has deleted them, and the watch shows one after the other
[[nodiscard]] bool room_is_coming(const model::NodeState& node, const model::PodDemand& demand,
                                  const policies::Policy& policy,
                                  const std::vector<std::string>& victims);

}  // namespace tangram::extender
