#pragma once

#include "bench/replay/arrivals.hpp"
#include "bench/replay/simulation.hpp"
#include "bench/replay/waiting_pods.hpp"
#include "bench/replay/work.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tangram::bench {

/// Every pod of a simulation, and what became of it. Pods are indices into the arrivals.
class SimulatedPods {
 public:
  enum class State { kToCome, kWaiting, kRunning, kEnded };

  /// @param arrivals  outlives it
  SimulatedPods(const std::vector<Arrival>& arrivals, std::size_t nodes, const RestartCost& cost);

  [[nodiscard]] const TracePod& request(std::size_t pod) const { return arrivals_[pod].pod; }
  [[nodiscard]] State state(std::size_t pod) const { return pods_[pod].state; }
  [[nodiscard]] const Placed& place(std::size_t pod) const { return pods_[pod].placed; }
  /// Counts the starts: an end that was foreseen for an earlier one does not happen.
  [[nodiscard]] std::size_t run(std::size_t pod) const { return pods_[pod].runs; }
  /// The pod alone, or the group that it is in.
  [[nodiscard]] WaitingPods::Unit unit_of(std::size_t pod) const;
  [[nodiscard]] const std::set<std::size_t>& on_node(std::size_t node) const {
    return on_node_[node];
  }

  /// Its number at the scheduler: a new one for each time that it arrives.
  [[nodiscard]] PodNumber number(std::size_t pod);
  /// @param number  of a pod that has not ended
  [[nodiscard]] std::size_t pod_of(PodNumber number) const { return by_number_.at(number); }

  void arrive(std::size_t pod, std::int64_t now);
  /// @returns when it ends
  std::int64_t start(std::size_t pod, Placed placed, std::int64_t now);
  void evict(std::size_t pod, std::int64_t now);
  /// @returns when it ends
  std::int64_t move(std::size_t pod, Placed to, std::int64_t now);
  void end(std::size_t pod);

  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] const ByClass<std::int64_t>& waiting() const { return waiting_; }
  /// Fills in what is counted of pods.
  void report(SimulationOutcome& outcome, std::int64_t measured_from, std::int64_t now) const;

 private:
  struct Pod {
    explicit Pod(std::int64_t lasts) : work(lasts) {}
    State state = State::kToCome;
    Work work;
    std::int64_t since = 0;   ///< without a place
    std::int64_t waited = 0;  ///< before that
    std::size_t runs = 0;
    std::size_t evictions = 0;
    std::size_t moves = 0;
    std::optional<PodNumber> number;
    Placed placed;
  };
  void wait(Pod& pod, const TracePod& request, std::int64_t now);
  void leave(std::size_t pod);
  [[nodiscard]] ClassOutcome outcome_of(std::optional<PodClass> which, std::int64_t measured_from,
                                        std::int64_t now) const;

  const std::vector<Arrival>& arrivals_;
  const RestartCost cost_;
  std::vector<Pod> pods_;
  std::vector<std::size_t> first_;  ///< of the group
  std::vector<std::set<std::size_t>> on_node_;
  std::map<PodNumber, std::size_t> by_number_;
  PodNumber next_number_ = 0;
  std::size_t running_ = 0;
  ByClass<std::int64_t> waiting_{};
};

}  // namespace tangram::bench
