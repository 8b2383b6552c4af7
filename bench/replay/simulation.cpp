#include "bench/replay/simulation.hpp"

#include "bench/replay/checker.hpp"
#include "bench/replay/event_queue.hpp"
#include "bench/replay/health.hpp"
#include "bench/replay/preemption.hpp"
#include "bench/replay/simulated_pods.hpp"
#include "bench/replay/waiting_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace tangram::bench {

namespace {

using Unit = WaitingPods::Unit;

/// For planners: more pods with the same request wait for the next look.
constexpr std::size_t kMostAlikePlanned = 4;

/// The cluster's state, from one event to the next. Steps return errors of the scheduler; a broken
/// rule is in the outcome, and ends the loop.
class Simulation {
 public:
  Simulation(const Trace& trace, const Events& events, const SimulationOptions& options,
             Scheduler& scheduler, MovePlanner* planner)
      : trace_(trace),
        events_(events),
        options_(options),
        scheduler_(scheduler),
        planner_(planner),
        checker_(trace.nodes),
        health_(trace.nodes),
        pods_(events.arrivals, trace.nodes.size(), options.restart),
        waiting_(checker_),
        budget_(options.move_percent),
        timeline_(events.arrivals.empty() ? 0 : events.arrivals.back().arrives) {}

  Result<SimulationOutcome> run() {
    foresee_all();
    while (!queue_.empty() && queue_.top().at <= timeline_.ends() && !outcome_.violation) {
      const Event event = queue_.top();
      queue_.pop();
      pass_time(event.at);
      if (auto done = happen(event); !done) return done.error();
    }
    pass_time(timeline_.ends());
    return finish();
  }

 private:
  void foresee_all() {
    for (std::size_t i = 0; i < events_.arrivals.size(); ++i) {
      if (events_.arrivals[i].group == 0) continue;  // it arrives with the first of its group
      queue_.push({events_.arrivals[i].arrives, EventKind::kArrival, i});
    }
    for (std::size_t i = 0; i < events_.failures.size(); ++i) {
      queue_.push({events_.failures[i].at, EventKind::kFailure, i});
      queue_.push({events_.failures[i].repaired_at, EventKind::kRepair, i});
    }
    queue_.push({options_.move_interval, EventKind::kPlanning});
  }

  Result<void> happen(const Event& event) {
    switch (event.kind) {
      case EventKind::kEnd:
        return pod_ends(event);
      case EventKind::kRepair:
        return repair(events_.failures[event.what]);
      case EventKind::kFailure:
        return fail(events_.failures[event.what]);
      case EventKind::kArrival:
        return arrive(pods_.unit_of(event.what));
      case EventKind::kPlanning:
        queue_.push({now_ + options_.move_interval, EventKind::kPlanning});
        return help_waiting();
    }
    return {};
  }

  void pass_time(std::int64_t until) {
    timeline_.pass(until, {.allocated_milli = checker_.allocated_milli(),
                           .idle_cards = checker_.idle_devices(),
                           .running_pods = static_cast<std::int64_t>(pods_.running()),
                           .waiting = pods_.waiting()});
    now_ = until;
  }

  void broken_rule(std::size_t pod, const std::string& what) {
    if (outcome_.violation) return;
    outcome_.violation = fmt::format("arrival {}, pod {} {}", pod, pods_.request(pod).name, what);
  }

  Result<void> pod_ends(const Event& event) {
    const std::size_t pod = event.what;
    if (pods_.state(pod) != SimulatedPods::State::kRunning || pods_.run(pod) != event.run) {
      return {};
    }
    const Placed placed = pods_.place(pod);
    if (auto left = leave(pod); !left) return left;
    pods_.end(pod);
    return try_again_on(placed.node);
  }

  Result<void> leave(std::size_t pod) {
    checker_.remove(pods_.request(pod), pods_.place(pod));
    return scheduler_.remove(pods_.number(pod));
  }

  Result<void> arrive(Unit unit) {
    for (std::size_t pod = unit.first; pod < unit.first + unit.pods; ++pod) {
      pods_.arrive(pod, now_);
    }
    const auto placed = place_anywhere(unit);
    if (!placed) return placed.error();
    if (*placed || outcome_.violation) return {};
    const bool first_of_its_kind = !waiting_.has_alike(unit, pods_.request(unit.first));
    waiting_.add(unit, pods_.request(unit.first));
    if (!first_of_its_kind) return {};  // those before it found no room, either
    if (auto preempted = preempt_for(unit); !preempted) return preempted;
    return plan_moves();
  }

  /// @returns whether it fits
  Result<bool> place_anywhere(Unit unit) {
    const TracePod& request = pods_.request(unit.first);
    if (unit.pods > 1 && !waiting_.fits(unit, request)) return false;
    for (std::size_t pod = unit.first; pod < unit.first + unit.pods; ++pod) {
      const auto placed = place(pod, checker_.feasible(request));
      if (!placed) return placed.error();
      if (*placed) continue;
      if (const auto wrong = checker_.record(request, std::nullopt)) broken_rule(pod, *wrong);
      return false;
    }
    return true;
  }

  /// @returns whether it fits
  Result<bool> place(std::size_t pod, const std::vector<std::size_t>& feasible) {
    const TracePod& request = pods_.request(pod);
    const auto started_at = std::chrono::steady_clock::now();
    auto placed = scheduler_.place(pods_.number(pod), request, feasible);
    placing_ += std::chrono::steady_clock::now() - started_at;
    if (!placed) return placed.error();
    if (!*placed) return false;
    if (!obeys_rules(pod, **placed)) return false;
    foresee_end(pod, pods_.start(pod, std::move(**placed), now_));
    return true;
  }

  /// The waiting pods fitted no node, and only this one has more room since.
  Result<void> try_again_on(std::size_t node) {
    while (const auto unit = waiting_.first_that_fits(node)) {
      waiting_.remove(*unit);
      if (unit->pods > 1) {
        const auto placed = place_anywhere(*unit);
        if (!placed) return placed.error();
      } else if (auto placed = place_where_it_fits(*unit, node); !placed) {
        return placed;
      }
      if (outcome_.violation) return {};
    }
    return {};
  }

  Result<void> place_where_it_fits(Unit unit, std::size_t node) {
    const auto placed = place(unit.first, {node});
    if (!placed) return placed.error();
    if (!*placed) {
      broken_rule(unit.first, "was left out but fits node " + trace_.nodes[node].name);
    }
    return {};
  }

  /// Evicts the pod, and with it the others of its group. They wait.
  /// @param nodes  gets those that they leave
  Result<void> evict(std::size_t pod, std::size_t& counter, std::vector<std::size_t>& nodes) {
    const Unit unit = pods_.unit_of(pod);
    for (std::size_t each = unit.first; each < unit.first + unit.pods; ++each) {
      nodes.push_back(pods_.place(each).node);
      if (auto left = leave(each); !left) return left;
      pods_.evict(each, now_);
      ++counter;
    }
    waiting_.add(unit, pods_.request(unit.first));
    return {};
  }

  /// An urgent pod takes the place of less urgent ones.
  Result<void> preempt_for(Unit unit) {
    const TracePod& request = pods_.request(unit.first);
    if (request.priority <= 0 || unit.pods > 1) return {};
    const auto found = preempt(trace_, request, *scheduler_.snapshot(),
                               [this](std::size_t node) { return health_.node_works(node); });
    if (!found) return {};
    std::vector<std::size_t> left;
    for (const PodNumber victim : found->victims) {
      const std::size_t pod = pods_.pod_of(victim);
      if (auto evicted = evict(pod, outcome_.preempted, left); !evicted) return evicted;
    }
    waiting_.remove(unit);
    if (auto placed = place_where_it_fits(unit, found->node); !placed) return placed;
    return try_again_on_all(left);
  }

  Result<void> try_again_on_all(const std::vector<std::size_t>& nodes) {
    for (const std::size_t node : nodes) {
      if (auto tried = try_again_on(node); !tried || outcome_.violation) return tried;
    }
    return {};
  }

  Result<void> fail(const Failure& failure) {
    const std::vector<bool> before = health_.working_gpus(failure.node);
    health_.breaks(failure);
    std::vector<std::size_t> broken;
    for (const std::size_t pod : pods_.on_node(failure.node)) {
      const auto& gpus = pods_.place(pod).gpus;
      if (!failure.gpu || std::find(gpus.begin(), gpus.end(), *failure.gpu) != gpus.end()) {
        broken.push_back(pod);
      }
    }
    std::vector<std::size_t> left;
    std::vector<Unit> units;
    for (const std::size_t pod : broken) {
      if (pods_.state(pod) != SimulatedPods::State::kRunning) continue;  // went with its group
      if (auto evicted = evict(pod, outcome_.failed, left); !evicted) return evicted;
      units.push_back(pods_.unit_of(pod));
    }
    if (auto set = publish_health(failure.node, before); !set) return set;
    if (auto tried = try_again_on_all(left); !tried || outcome_.violation) return tried;
    return arrive_again(units);
  }

  /// Those that have not found a place on the nodes that others left.
  Result<void> arrive_again(const std::vector<Unit>& units) {
    for (const Unit unit : units) {
      if (pods_.state(unit.first) != SimulatedPods::State::kWaiting) continue;
      const auto placed = place_anywhere(unit);
      if (!placed) return placed.error();
      if (outcome_.violation) return {};
      if (*placed) waiting_.remove(unit);
    }
    return {};
  }

  Result<void> repair(const Failure& failure) {
    const std::vector<bool> before = health_.working_gpus(failure.node);
    health_.is_repaired(failure);
    if (auto set = publish_health(failure.node, before); !set) return set;
    return try_again_on(failure.node);
  }

  /// Tells of the devices that have changed.
  Result<void> publish_health(std::size_t node, const std::vector<bool>& before) {
    const std::vector<bool> now = health_.working_gpus(node);
    checker_.set_health(node, health_.node_works(node));
    for (const bool works : {false, true}) {
      std::vector<std::uint32_t> changed;
      for (std::uint32_t gpu = 0; gpu < now.size(); ++gpu) {
        if (now[gpu] == before[gpu] || now[gpu] != works) continue;
        checker_.set_health(node, gpu, works);
        changed.push_back(gpu);
      }
      if (changed.empty()) continue;
      if (auto set = scheduler_.set_health(node, changed, works); !set) return set;
    }
    return {};
  }

  Result<void> help_waiting() {
    if (waiting_.empty()) return {};
    for (const Unit unit : waiting_.in_order(1)) {
      if (pods_.state(unit.first) != SimulatedPods::State::kWaiting) continue;
      if (auto preempted = preempt_for(unit); !preempted || outcome_.violation) return preempted;
    }
    return plan_moves();
  }

  [[nodiscard]] std::vector<Unit> single_pods_that_wait() const {
    std::vector<Unit> units = waiting_.in_order(kMostAlikePlanned);
    std::erase_if(units, [](Unit unit) { return unit.pods > 1; });
    return units;
  }

  Result<void> plan_moves() {
    if (planner_ == nullptr) return {};
    const std::size_t most = budget_.left(now_, pods_.running());
    const std::vector<Unit> units = single_pods_that_wait();
    if (most == 0 || units.empty()) return {};
    const auto started_at = std::chrono::steady_clock::now();
    const auto cluster = scheduler_.snapshot();
    MovePlanner::Question question{.cluster = *cluster,
                                   .waiting = {},
                                   .movable = [this](PodNumber number) { return movable(number); },
                                   .most = most};
    for (const Unit unit : units) question.waiting.push_back(&pods_.request(unit.first));
    const MovePlanner::Plan plan = planner_->plan(question);
    planning_ += std::chrono::steady_clock::now() - started_at;
    if (plan.moves.empty()) return {};
    if (plan.moves.size() > most) {
      broken_rule(pods_.pod_of(plan.moves[most].number), "is moved beyond the limit of moves");
      return {};
    }
    return carry_out(plan, units);
  }

  [[nodiscard]] const TracePod* movable(PodNumber number) const {
    const std::size_t pod = pods_.pod_of(number);
    const TracePod& request = pods_.request(pod);
    return request.priority > 0 || pods_.unit_of(pod).pods > 1 ? nullptr : &request;
  }

  Result<void> carry_out(const MovePlanner::Plan& plan, const std::vector<Unit>& units) {
    std::vector<std::size_t> left;
    for (const auto& [number, request, to] : plan.moves) {
      const Placed& from = pods_.place(pods_.pod_of(number));
      checker_.remove(request, from);
      left.push_back(from.node);
    }
    for (const auto& [number, request, to] : plan.moves) {
      const std::size_t pod = pods_.pod_of(number);
      if (!obeys_rules(pod, to)) return {};
      foresee_end(pod, pods_.move(pod, to, now_));
    }
    std::vector<Scheduler::Move> all = plan.moves;
    for (const auto& [waiting, to] : plan.beneficiaries) {
      const std::size_t pod = units[waiting].first;
      if (!obeys_rules(pod, to)) return {};
      waiting_.remove(units[waiting]);
      all.push_back({.number = pods_.number(pod), .pod = pods_.request(pod), .to = to});
      foresee_end(pod, pods_.start(pod, to, now_));
    }
    if (auto moved = scheduler_.move(all); !moved) return moved;
    budget_.spend(now_, plan.moves.size());
    outcome_.moves += plan.moves.size();
    outcome_.moved_for += plan.beneficiaries.size();
    return try_again_on_all(left);
  }

  bool obeys_rules(std::size_t pod, const Placed& placed) {
    if (const auto wrong = checker_.record(pods_.request(pod), placed)) broken_rule(pod, *wrong);
    return !outcome_.violation;
  }

  void foresee_end(std::size_t pod, std::int64_t at) {
    queue_.push({at, EventKind::kEnd, pod, pods_.run(pod)});
  }

  SimulationOutcome finish() {
    outcome_.capacity_milli = trace_.capacity_milli();
    outcome_.cards =
        std::accumulate(trace_.nodes.begin(), trace_.nodes.end(), std::int64_t{0},
                        [](std::int64_t sum, const TraceNode& node) { return sum + node.gpus; });
    outcome_.ends = timeline_.ends();
    outcome_.mean = timeline_.mean();
    outcome_.series = timeline_.series();
    pods_.report(outcome_, timeline_.measured_from(), now_);
    outcome_.placing_seconds = std::chrono::duration<double>(placing_).count();
    outcome_.planning_seconds = std::chrono::duration<double>(planning_).count();
    return std::move(outcome_);
  }

  const Trace& trace_;
  const Events& events_;
  const SimulationOptions& options_;
  Scheduler& scheduler_;
  MovePlanner* planner_;
  PlacementChecker checker_;
  Health health_;
  SimulatedPods pods_;
  WaitingPods waiting_;
  MoveBudget budget_;
  Timeline timeline_;
  std::int64_t now_ = 0;
  EventQueue queue_;
  std::chrono::steady_clock::duration placing_{};
  std::chrono::steady_clock::duration planning_{};
  SimulationOutcome outcome_;
};

}  // namespace

Result<SimulationOutcome> simulate(const Trace& trace, const Events& events,
                                   const SimulationOptions& options, Scheduler& scheduler,
                                   MovePlanner* planner) {
  return Simulation(trace, events, options, scheduler, planner).run();
}

}  // namespace tangram::bench
