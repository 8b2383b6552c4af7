#include "bench/replay/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tangram::bench {

std::size_t nodes_to_find(std::size_t nodes, int percent) {
  constexpr std::size_t kLeast = 100;
  constexpr int kLeastPercent = 5;
  if (percent == 0) percent = std::max(kLeastPercent, 50 - static_cast<int>(nodes / 125));
  if (nodes < kLeast || percent >= 100) return nodes;
  return std::max(kLeast, nodes * static_cast<std::size_t>(percent) / 100);
}

SampledScheduler::SampledScheduler(std::unique_ptr<Scheduler> scheduler,
                                   const std::vector<TraceNode>& nodes, int percent)
    : scheduler_(std::move(scheduler)),
      nodes_(nodes),
      wanted_(nodes_to_find(nodes.size(), percent)) {}

std::vector<std::size_t> SampledScheduler::sample(const std::vector<std::size_t>& feasible) {
  if (feasible.size() <= wanted_) return feasible;
  std::vector<std::size_t> distances;
  distances.reserve(feasible.size());
  for (const std::size_t node : feasible) distances.push_back(distance(node));
  const auto last = distances.begin() + static_cast<std::ptrdiff_t>(wanted_) - 1;
  std::nth_element(distances.begin(), last, distances.end());
  std::vector<std::size_t> shown;
  std::copy_if(feasible.begin(), feasible.end(), std::back_inserter(shown),
               [&](std::size_t node) { return distance(node) <= *last; });
  start_ = (start_ + *last + 1) % nodes_.size();
  return shown;
}

Result<std::optional<Placed>> SampledScheduler::place(PodNumber number, const TracePod& pod,
                                                      const std::vector<std::size_t>& feasible) {
  std::vector<std::size_t> all = feasible;
  // Nodes without GPUs have no slots, so kube-scheduler itself refuses them.
  if (pod.gpus > 0) std::erase_if(all, [&](std::size_t node) { return nodes_[node].gpus == 0; });
  const std::size_t rounds = (all.size() + wanted_ - 1) / wanted_;
  for (std::size_t round = 0; round < std::max<std::size_t>(rounds, 1); ++round) {
    ++attempts_;
    auto placed = scheduler_->place(number, pod, sample(all));
    if (!placed || *placed) {
      if (placed) ++(round == 0 ? placed_ : placed_late_);
      return placed;
    }
  }
  return std::optional<Placed>{};
}

std::string SampledScheduler::remarks() const {
  return scheduler_->remarks() +
         fmt::format(
             "sampling: {} of {} nodes at a time; {} attempts; {} pods placed at the first "
             "one, {} later\n",
             wanted_, nodes_.size(), attempts_, placed_, placed_late_);
}

}  // namespace tangram::bench
