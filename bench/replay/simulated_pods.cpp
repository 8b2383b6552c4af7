#include "bench/replay/simulated_pods.hpp"

#include <algorithm>
#include <utility>

namespace tangram::bench {

SimulatedPods::SimulatedPods(const std::vector<Arrival>& arrivals, std::size_t nodes,
                             const RestartCost& cost)
    : arrivals_(arrivals), cost_(cost), on_node_(nodes) {
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    pods_.emplace_back(arrivals[i].lasts);
    first_.push_back(arrivals[i].group == 0 ? first_.back() : i);
  }
}

WaitingPods::Unit SimulatedPods::unit_of(std::size_t pod) const {
  return {.first = first_[pod], .pods = arrivals_[first_[pod]].group};
}

PodNumber SimulatedPods::number(std::size_t pod) {
  auto& number = pods_[pod].number;
  if (!number) {
    number = next_number_++;
    by_number_.emplace(*number, pod);
  }
  return *number;
}

void SimulatedPods::wait(Pod& pod, const TracePod& request, std::int64_t now) {
  pod.state = State::kWaiting;
  pod.since = now;
  ++waiting_[static_cast<std::size_t>(class_of(request))];
}

void SimulatedPods::arrive(std::size_t pod, std::int64_t now) {
  wait(pods_[pod], request(pod), now);
}

std::int64_t SimulatedPods::start(std::size_t pod, Placed placed, std::int64_t now) {
  Pod& state = pods_[pod];
  --waiting_[static_cast<std::size_t>(class_of(request(pod)))];
  state.state = State::kRunning;
  state.waited += now - state.since;
  state.placed = std::move(placed);
  ++state.runs;
  ++running_;
  on_node_[state.placed.node].insert(pod);
  return state.work.start(now, cost_);
}

void SimulatedPods::leave(std::size_t pod) {
  --running_;
  on_node_[pods_[pod].placed.node].erase(pod);
  by_number_.erase(*std::exchange(pods_[pod].number, std::nullopt));
}

void SimulatedPods::evict(std::size_t pod, std::int64_t now) {
  leave(pod);
  pods_[pod].work.stop(now, cost_);
  ++pods_[pod].evictions;
  wait(pods_[pod], request(pod), now);
}

std::int64_t SimulatedPods::move(std::size_t pod, Placed to, std::int64_t now) {
  Pod& state = pods_[pod];
  on_node_[state.placed.node].erase(pod);
  state.placed = std::move(to);
  on_node_[state.placed.node].insert(pod);
  ++state.moves;
  ++state.runs;
  state.work.stop(now, cost_);
  return state.work.start(now, cost_);
}

void SimulatedPods::end(std::size_t pod) {
  leave(pod);
  pods_[pod].state = State::kEnded;
  pods_[pod].work.finish();
}

ClassOutcome SimulatedPods::outcome_of(std::optional<PodClass> which, std::int64_t measured_from,
                                       std::int64_t now) const {
  ClassOutcome outcome;
  std::vector<std::int64_t> waits;
  std::int64_t overhead = 0;
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    const Pod& pod = pods_[i];
    if (pod.state == State::kToCome || arrivals_[i].arrives < measured_from) continue;
    if (which && class_of(request(i)) != *which) continue;
    waits.push_back(pod.waited + (pod.state == State::kWaiting ? now - pod.since : 0));
    overhead += pod.work.overhead();
    outcome.evicted += pod.evictions;
    outcome.moved += pod.moves;
    if (pod.runs == 0) ++outcome.never_placed;
  }
  outcome.wait = statistics_of(std::move(waits));
  const auto pods = static_cast<double>(std::max<std::size_t>(1, outcome.wait.pods));
  outcome.mean_overhead_s = static_cast<double>(overhead) / 1000 / pods;
  return outcome;
}

void SimulatedPods::report(SimulationOutcome& outcome, std::int64_t measured_from,
                           std::int64_t now) const {
  outcome.all = outcome_of(std::nullopt, measured_from, now);
  for (std::size_t i = 0; i < kPodClasses; ++i) {
    outcome.classes[i] = outcome_of(static_cast<PodClass>(i), measured_from, now);
  }
  const auto count = [&](State state) {
    return static_cast<std::size_t>(std::count_if(
        pods_.begin(), pods_.end(), [state](const Pod& pod) { return pod.state == state; }));
  };
  outcome.arrived = pods_.size() - count(State::kToCome);
  outcome.ended = count(State::kEnded);
  outcome.running = count(State::kRunning);
  outcome.waiting = count(State::kWaiting);
}

}  // namespace tangram::bench
