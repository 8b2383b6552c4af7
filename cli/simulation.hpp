#pragma once

#include "cluster/policy_source.hpp"
#include "kube/objects.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace tangram::cli {

/// Where a pod would go.
struct Placed {
  std::string node;
  model::Isolation isolation{};
  std::vector<model::ContainerGrant> containers;
};
/// It would wait: how many nodes give which reason.
struct Unplaced {
  std::map<std::string, std::size_t> reasons;

  /// "fits none of 12 nodes: 8 × no GPU card has ...; 4 × ...".
  [[nodiscard]] std::string sentence() const;
};
using Outcome = std::variant<Placed, Unplaced>;

/// The cluster's ledger to play with: places pods one after the other as extender and
/// kube-scheduler would, and writes nothing anywhere. What kube-scheduler looks at besides (taints,
/// affinity, volumes, quotas) is left out, except for cordoned nodes, slots, CPU and memory.
/// Threads: one at a time.
class Simulation {
 public:
  /// @param closed  names of nodes that take no pods at all
  Simulation(const model::ClusterSnapshot& cluster, const std::set<std::string>& closed);

  /// Books the pod where its policy likes it best; on a tie the first node by name.
  Outcome place(const kube::Pod& pod, const cluster::PodPlan& plan);

  /// How many pods of one kind go onto each node, each node filled by itself. Changes nothing.
  struct Room {
    std::string node;
    std::vector<Placed> pods;  ///< in the order in which their places would be taken
  };
  struct Capacity {
    std::vector<Room> rooms;  ///< of nodes that take some, by name
    std::size_t pods = 0;
    bool more = false;   ///< counting stopped at `most`
    Unplaced none = {};  ///< why the others take none
  };
  [[nodiscard]] Capacity capacity(const kube::Pod& pod, const cluster::PodPlan& plan,
                                  std::size_t most) const;

  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }

 private:
  /// What a pod can expect of a node.
  struct Look {
    std::optional<policies::Choice> choice;
    std::string why_not;  ///< if there is none
  };
  struct Site {
    model::NodeState state;
    bool closed = false;
    std::optional<Look> look = std::nullopt;  ///< of the pod placed last, unless it came here
  };
  [[nodiscard]] static Look look_at(const cluster::PodPlan& plan, const model::NodeState& node,
                                    bool closed);
  void forget_others(const cluster::PodPlan& plan);

  std::vector<Site> nodes_;  ///< present ones with cards, by name
  /// Whose looks the sites have: pods that come in hundreds are alike, and of all nodes one
  /// changes.
  std::optional<cluster::PodPlan> looked_for_;
};

}  // namespace tangram::cli
