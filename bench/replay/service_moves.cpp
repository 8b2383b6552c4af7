#include "bench/replay/service_moves.hpp"

#include "cluster/moves.hpp"
#include "policies/trace_pods.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

namespace tangram::bench {

namespace {

using cluster::PlacelessPod;

/// Equal requests have one controller: the planner takes pods of one to be alike.
PlacelessPod placeless(const TracePod& pod, const policies::Policy& policy) {
  kube::Pod next;
  next.name = pod.name;
  next.priority = pod.priority;
  next.controller = {.kind = "ReplicaSet",
                     .name = fmt::format("{}-{}-{}-{}-{}", pod.cpu_milli, pod.memory_mib, pod.gpus,
                                         pod.gpu_milli, fmt::join(pod.models, "-"))};
  return {.pod = std::make_shared<const kube::Pod>(std::move(next)),
          .plan = {.demand = policies::demand_of(pod, model::Isolation::kNone),
                   .policies = nullptr,
                   .policy = &policy}};
}

class ServiceMoves final : public MovePlanner {
 public:
  ServiceMoves(const Trace& trace, const InProcessScheduler& scheduler) : scheduler_(scheduler) {
    for (const TraceNode& node : trace.nodes) index_.emplace(node.name, index_.size());
  }

  [[nodiscard]] Plan plan(const Question& question) override {
    std::vector<cluster::WantedPod> wanted;
    for (const TracePod* pod : question.waiting) {
      wanted.push_back({.next = placeless(*pod, scheduler_.policy())});
    }
    const auto pod_of = [&](const model::Allocation& allocation) {
      return question.movable(number_of(allocation.pod_name));
    };
    const auto movable = [&](const model::Allocation& allocation) {
      return pod_of(allocation) != nullptr;
    };
    const auto next_pod = [&](const model::Allocation& allocation) {
      return std::make_shared<const PlacelessPod>(
          placeless(*pod_of(allocation), scheduler_.policy()));
    };
    const auto plan = cluster::plan_moves(
        {.cluster = question.cluster,
         .wanted = wanted,
         .budgets = {},
         .movable = movable,
         .next_pod = next_pod,
         .takes = [](const kube::Pod& /*pod*/, const model::NodeState& /*node*/) { return true; },
         .limits = {.moves = question.most}});
    return plan_of(plan, question);
  }

 private:
  [[nodiscard]] Plan plan_of(const cluster::MovePlan& planned, const Question& question) const {
    Plan plan;
    for (const cluster::Move& move : planned.moves) {
      const PodNumber number = number_of(move.pod->pod_name);
      plan.moves.push_back(
          {.number = number, .pod = *question.movable(number), .to = placed_of(move.next)});
    }
    for (const cluster::Arrival& arrival : planned.arrivals) {
      plan.beneficiaries.push_back({.waiting = arrival.wanted, .to = placed_of(arrival.place)});
    }
    return plan;
  }

  [[nodiscard]] Placed placed_of(const model::Allocation& allocation) const {
    return {.node = index_.at(allocation.node),
            .gpus = gpus_of(allocation.containers, allocation.node)};
  }

  const InProcessScheduler& scheduler_;
  std::map<std::string, std::size_t> index_;  ///< of nodes by name
};

}  // namespace

std::unique_ptr<MovePlanner> make_service_moves(const Trace& trace,
                                                const InProcessScheduler& scheduler) {
  return std::make_unique<ServiceMoves>(trace, scheduler);
}

}  // namespace tangram::bench
