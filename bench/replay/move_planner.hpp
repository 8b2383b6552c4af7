#pragma once

#include "bench/replay/scheduler.hpp"
#include "bench/replay/trace.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace tangram::bench {

/// Who makes room for waiting pods by moving running ones.
class MovePlanner {
 public:
  virtual ~MovePlanner() = default;

  struct Question {
    const model::ClusterSnapshot& cluster;
    /// Pods that wait, each alone, in the order in which they are to be placed.
    std::vector<const TracePod*> waiting;
    /// What the running pod requests; null = it may not be moved.
    std::function<const TracePod*(PodNumber)> movable;
    std::size_t most = 0;  ///< moves
  };
  /// A waiting pod that fits there once the moves are done.
  struct Beneficiary {
    std::size_t waiting = 0;  ///< into Question::waiting
    Placed to;
  };
  struct Plan {
    std::vector<Scheduler::Move> moves;
    std::vector<Beneficiary> beneficiaries;
  };
  /// @returns a plan without moves if none helps
  [[nodiscard]] virtual Plan plan(const Question& question) = 0;
};

/// How many pods may be moved: a part of the running ones in any hour.
class MoveBudget {
 public:
  /// @param percent  of the pods that run, in an hour
  explicit MoveBudget(double percent) : percent_(percent) {}

  /// @param now  milliseconds; never less than before
  [[nodiscard]] std::size_t left(std::int64_t now, std::size_t running);
  void spend(std::int64_t now, std::size_t moves) { spent_.insert(spent_.end(), moves, now); }

 private:
  double percent_;
  std::deque<std::int64_t> spent_;  ///< when, in the last hour
};

}  // namespace tangram::bench
