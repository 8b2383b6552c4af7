#pragma once

#include "model/node_state.hpp"
#include "policies/workload.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace tangram::policies {

using DemandPtr = std::shared_ptr<const model::PodDemand>;

/// The pods by class. For a window of 20,000 different pods that takes tens of milliseconds.
[[nodiscard]] WorkloadCounter count(const std::vector<DemandPtr>& pods);

/// The latest pods that arrived, and when it is time to learn from them again: at 25, 50, 100, ...
/// pods, then every so many. Memory: the window. Not safe to share between threads.
class ArrivalLog {
 public:
  struct Limits {
    std::size_t window_pods = 20'000;
    std::size_t relearn_every = 1'000;
  };
  explicit ArrivalLog(Limits limits) : limits_(limits) {}

  /// @param demand  not null
  /// @returns whether it is time to learn again
  bool add(DemandPtr demand);

  /// The pods of the window, the oldest first: as many pointers, to count without a lock.
  [[nodiscard]] std::vector<DemandPtr> window() const { return {window_.begin(), window_.end()}; }

 private:
  Limits limits_;
  std::deque<DemandPtr> window_;
  std::size_t arrivals_ = 0;
  std::size_t next_relearn_ = 25;
};

}  // namespace tangram::policies
