#include "policies/workload.hpp"

#include <algorithm>

namespace tangram::policies {

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
