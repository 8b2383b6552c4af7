#pragma once

#include "model/node_state.hpp"
#include "policies/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tangram::policies {

/// One kind of pod and how many of them were seen.
struct WorkloadClass {
  model::PodDemand demand;  ///< container names left empty: they do not matter here
  std::int64_t count = 0;
};

/// The pods a cluster is expected to get, as FGD's target workload: the most frequent classes
/// that together cover a share of all pods. Immutable; shared between threads.
struct Workload {
  std::vector<WorkloadClass> classes;  ///< most frequent first; ties in order of first appearance
  std::int64_t total = 0;              ///< sum of the counts of the classes kept
};

/// The coverage of the published FGD.
inline constexpr int kCoveragePercent = 95;
/// Every class: rare pods decide too, such as those of eight cards.
inline constexpr int kAllPods = 100;

/// How far apart two workloads are: half the sum of the absolute differences of the classes'
/// shares; 0 = the same mix, 1 = nothing in common. Percent, rounded down; nothing against
/// something = 100.
[[nodiscard]] int distance_percent(const Workload& a, const Workload& b);

/// Counts pods by class. Deterministic: the same pods in the same order give the same workload.
/// Memory grows with the number of different classes, not with the pods.
class WorkloadCounter {
 public:
  /// Two pods are of one class if their CPU and GPU requests are the same (memory of the node is
  /// not looked at, as in the published FGD; nor are the ids of cards).
  void add(const model::PodDemand& demand);

  [[nodiscard]] std::size_t pods() const { return pods_; }

  /// The most frequent classes up to and including the one that reaches `coverage_percent` of
  /// the pods.
  [[nodiscard]] Workload top(int coverage_percent) const;

 private:
  std::vector<WorkloadClass> classes_;  ///< in order of first appearance
  std::unordered_map<model::PodDemand, std::size_t, ShapeHash> index_;  ///< into classes_
  std::size_t pods_ = 0;
};

}  // namespace tangram::policies
