#pragma once

#include "model/node_state.hpp"
#include "policies/workload.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace tangram::policies {

using DemandPtr = std::shared_ptr<const model::PodDemand>;

/// The oldest first.
using Arrivals = std::deque<DemandPtr>;

struct ArrivalLimits {
  std::size_t window_pods = 20'000;
  std::size_t relearn_every = 1'000;
};

/// The pods that arrived since they were last taken, at most a window of them, and when it is time
/// to learn again: at 25, 50, 100, ... pods, then every so many. Each call is short. Threads: not
/// safe.
class ArrivalLog {
 public:
  explicit ArrivalLog(ArrivalLimits limits) : limits_(limits) {}

  /// @param demand  not null
  /// @returns whether it is time to learn again
  bool add(DemandPtr demand);
  [[nodiscard]] Arrivals take() { return std::exchange(latest_, {}); }

 private:
  ArrivalLimits limits_;
  Arrivals latest_;
  std::size_t arrivals_ = 0;
  std::size_t next_relearn_ = 25;
};

/// The pods to learn from: those that arrived last.
/// Threads: not safe.
class ArrivalWindow {
 public:
  explicit ArrivalWindow(ArrivalLimits limits) : limits_(limits) {}

  void add(Arrivals latest);
  /// The pods by class. For a window of 20,000 different pods that takes tens of milliseconds.
  [[nodiscard]] WorkloadCounter count() const;

 private:
  ArrivalLimits limits_;
  Arrivals pods_;
};

}  // namespace tangram::policies
