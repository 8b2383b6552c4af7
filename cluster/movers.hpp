#pragma once

#include "cluster/moves.hpp"

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace tangram::cluster {

/// The pods that may move for one plan. Threads: one at a time.
class Movers {
 public:
  /// @param question  outlives it, and so do the allocations of its cluster
  explicit Movers(const MoveQuestion& question);

  /// Not of reservations, terminating pods, pods without cards and those of a spent budget.
  [[nodiscard]] bool has(const model::Allocation& pod) const;
  /// As MoveQuestion::next_pod, asked once. @returns null if it is not known
  [[nodiscard]] const PlacelessPod* next_of(const model::Allocation& pod);
  /// It has to stay.
  void remove(const model::Allocation& pod) { removed_.insert(pod.pod_uid); }

 private:
  const MoveQuestion& question_;
  std::map<std::string_view, std::vector<const kube::DisruptionBudget*>> spent_budgets_;  ///< by ns
  std::map<std::string_view, std::shared_ptr<const PlacelessPod>> next_pods_;  ///< by UID
  std::set<std::string_view> removed_;                                         ///< UIDs
};

}  // namespace tangram::cluster
