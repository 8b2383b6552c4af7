#pragma once

#include "model/node_state.hpp"
#include "policies/workload.hpp"

#include <cstddef>
#include <deque>

namespace tangram::policies {

/// The latest pods that arrived, and when it is time to learn from them again: at 25, 50, 100, ...
/// pods, then every so many. Memory: the window. Not safe to share between threads.
class ArrivalLog {
 public:
  struct Limits {
    std::size_t window_pods = 20'000;
    std::size_t relearn_every = 1'000;
  };
  explicit ArrivalLog(Limits limits) : limits_(limits) {}

  /// @returns whether it is time to learn again
  bool add(model::PodDemand demand);

  /// The pods of the window, by class.
  [[nodiscard]] WorkloadCounter count() const;

 private:
  Limits limits_;
  std::deque<model::PodDemand> window_;
  std::size_t arrivals_ = 0;
  std::size_t next_relearn_ = 25;
};

}  // namespace tangram::policies
