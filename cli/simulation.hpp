#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/policy_source.hpp"
#include "kube/objects.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tangram::cli {

/// Where a pod would go.
struct Placed {
  std::string node;
  model::Isolation isolation{};
  std::vector<model::ContainerGrant> containers;
};
/// The pod would wait: how many nodes have which reason.
struct Unplaced {
  std::map<std::string, std::size_t> reasons;

  /// "fits none of 12 nodes: 8 × no GPU card has ...; 4 × ...".
  [[nodiscard]] std::string sentence() const;
};
/// The pod would go there once these have been evicted.
struct Preempting {
  Placed place;
  std::vector<model::AllocationPtr> victims;
};
/// The pods on each node, in order of placement.
using NodePods = std::vector<std::pair<std::string, std::vector<Placed>>>;
using Outcome = std::variant<Placed, Unplaced>;

/// A copy of the cluster's ledger in which pods are placed one after the other, as extender and
/// kube-scheduler would. Writes nothing to the cluster. Of kube-scheduler's own checks it has
/// cordoned nodes, slots, CPU and memory; not taints, affinity, volumes and quotas.
/// Threads: one at a time.
class Simulation {
 public:
  /// @param cordoned  names of nodes that take no pods
  Simulation(const model::ClusterSnapshot& cluster, const std::set<std::string>& cordoned);

  /// Assumes the pod where its policy scores highest; on a tie on the first node by name.
  Outcome place(const kube::Pod& pod, const cluster::PodPlan& plan);

  /// Evicts the cheapest pods of lower priority, and assumes the pod in their place. No budget is
  /// broken by all evictions together.
  /// @returns nothing if that does not help
  std::optional<Preempting> preempt(const kube::Pod& pod, const cluster::PodPlan& plan,
                                    const cluster::BudgetList& budgets);

  /// How many pods of one kind fit each node, each node filled by itself. Changes nothing.
  struct Capacity {
    NodePods nodes;  ///< with room, by name
    std::size_t pods = 0;
    bool more = false;   ///< counting stopped at `most`
    Unplaced none = {};  ///< reasons of the others
  };
  [[nodiscard]] Capacity capacity(const kube::Pod& pod, const cluster::PodPlan& plan,
                                  std::size_t most) const;

 private:
  /// Whether a pod fits a node, and how.
  struct Evaluation {
    std::optional<policies::Choice> choice;
    std::string why_not;  ///< if there is none
  };
  struct Candidate {
    model::NodeState state;
    bool cordoned = false;
    std::optional<Evaluation> evaluation = std::nullopt;  ///< of evaluated_for_
  };
  [[nodiscard]] static Evaluation evaluate(const cluster::PodPlan& plan,
                                           const model::NodeState& node, bool cordoned);
  void forget_other_pods(const cluster::PodPlan& plan);

  std::vector<Candidate> nodes_;  ///< present ones with cards, by name
  std::vector<model::AllocationPtr> evicted_;
  /// The pod of the candidates' evaluations: in a series of equal pods only one node changes with
  /// each.
  std::optional<cluster::PodPlan> evaluated_for_;
};

}  // namespace tangram::cli
