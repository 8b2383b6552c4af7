#pragma once

#include "cluster/moves.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tangram::bench {

/// Pods that want whole cards of a SyntheticApi's cluster, where each is partly used: a plan of
/// moves makes room for them. Of the running pods 40 in 97 have a disruption budget; half of the
/// budgets allow no move, the others one each. One node in ten takes no pod.
class WantedPods {
 public:
  /// @param policies  outlive it
  /// @param each      pods for each number of cards
  WantedPods(const cluster::PolicySource& policies, int each);

  [[nodiscard]] cluster::MovePlan plan(const model::ClusterSnapshot& cluster, int moves) const;
  [[nodiscard]] const cluster::PodPlan& first() const { return wanted_.front().next.plan; }

 private:
  /// A pod like the one that holds this.
  [[nodiscard]] std::shared_ptr<const cluster::PlacelessPod> next_of(
      const model::Allocation& pod) const;
  [[nodiscard]] std::shared_ptr<const cluster::PlacelessPod> next_pod(
      const std::string& name, model::Annotations annotations, model::Footprint footprint) const;

  const cluster::PolicySource& policies_;
  std::vector<cluster::WantedPod> wanted_;
  cluster::BudgetList budgets_;
};

}  // namespace tangram::bench
