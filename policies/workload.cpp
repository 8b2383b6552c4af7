#include "policies/workload.hpp"

#include <algorithm>

namespace tangram::policies {

int distance_percent(const Workload& a, const Workload& b) {
  if (a.total == 0 || b.total == 0) return a.total == b.total ? 0 : 100;
  std::unordered_map<model::PodDemand, double, ShapeHash> share;
  for (const WorkloadClass& pods : a.classes) {
    share[pods.demand] += static_cast<double>(pods.count) / static_cast<double>(a.total);
  }
  double common = 0;
  for (const WorkloadClass& pods : b.classes) {
    const auto known = share.find(pods.demand);
    if (known == share.end()) continue;
    common +=
        std::min(known->second, static_cast<double>(pods.count) / static_cast<double>(b.total));
  }
  return static_cast<int>(100 * (1 - common));
}

void WorkloadCounter::add(const model::PodDemand& demand) {
  model::PodDemand shape = shape_of(demand);
  shape.footprint.memory = {};
  shape.gpu.card_ids.clear();  // of a pod like it, the next one will want another card
  const auto [found, is_new] = index_.try_emplace(std::move(shape), classes_.size());
  if (is_new) classes_.push_back({.demand = found->first, .count = 0});
  ++classes_[found->second].count;
  ++pods_;
}

Workload WorkloadCounter::top(int coverage_percent) const {
  std::vector<WorkloadClass> ranked = classes_;
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const WorkloadClass& a, const WorkloadClass& b) { return a.count > b.count; });
  const std::int64_t wanted = coverage_percent * static_cast<std::int64_t>(pods_);
  Workload workload;
  for (WorkloadClass& next : ranked) {
    if (workload.total * 100 >= wanted) break;
    workload.total += next.count;
    workload.classes.push_back(std::move(next));
  }
  return workload;
}

}  // namespace tangram::policies
