#pragma once

#include "bench/replay/scheduler.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tangram::bench {

/// How many nodes that fit by its own rules kube-scheduler looks for before it asks the extender
/// (1.36, schedule_one.go, numFeasibleNodesToFind). At least 100.
/// @param percent  percentageOfNodesToScore; 0 = its default, 50 less one for each 125 nodes, at
///                 least 5
[[nodiscard]] std::size_t nodes_to_find(std::size_t nodes, int percent);

/// Shows another scheduler only some of the nodes, as kube-scheduler does with
/// percentageOfNodesToScore below 100: it walks over the nodes, always from where it stopped
/// before, until it has found enough. A pod that fits none of them is tried again with the next
/// ones, until all were shown: in a cluster, that is at least a second later each time.
class SampledScheduler final : public Scheduler {
 public:
  /// @param nodes    outlives this
  /// @param percent  as of nodes_to_find()
  SampledScheduler(std::unique_ptr<Scheduler> scheduler, const std::vector<TraceNode>& nodes,
                   int percent);

  Result<std::optional<Placed>> place(PodNumber number, const TracePod& pod,
                                      const std::vector<std::size_t>& feasible) override;
  Result<void> remove(PodNumber number) override { return scheduler_->remove(number); }
  Result<void> move(const std::vector<Move>& moves) override { return scheduler_->move(moves); }
  Result<void> set_health(std::size_t node, const std::vector<std::uint32_t>& gpus,
                          bool healthy) override {
    return scheduler_->set_health(node, gpus, healthy);
  }
  [[nodiscard]] std::shared_ptr<const model::ClusterSnapshot> snapshot() override {
    return scheduler_->snapshot();
  }
  [[nodiscard]] std::string remarks() const override;

 private:
  [[nodiscard]] std::size_t distance(std::size_t node) const {
    return (node + nodes_.size() - start_) % nodes_.size();
  }
  /// The next ones, in their order.
  [[nodiscard]] std::vector<std::size_t> sample(const std::vector<std::size_t>& feasible);

  std::unique_ptr<Scheduler> scheduler_;
  const std::vector<TraceNode>& nodes_;
  std::size_t wanted_;
  std::size_t start_ = 0;  ///< the node from which the next walk goes
  std::size_t attempts_ = 0;
  std::size_t placed_ = 0;
  std::size_t placed_late_ = 0;  ///< not at the first attempt
};

}  // namespace tangram::bench
