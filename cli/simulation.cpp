#include "cli/simulation.hpp"

#include "cluster/allocations.hpp"
#include "model/fit.hpp"

#include <optional>
#include <utility>

namespace tangram::cli {

namespace {

/// What kube-scheduler itself finds wrong with the node; "" if nothing.
std::string in_tree_misfit(const model::Footprint& needs, const model::NodeState& node) {
  if (needs.cpu > node.free_cpu()) return "node has too little free CPU";
  if (needs.memory > node.free_memory()) return "node has too little free memory";
  if (needs.slots > node.inventory->slots - node.requested.slots) {
    return "node has no free slot (tangram.dev/gpu-slot)";
  }
  return "";
}

/// Books the choice on the node.
Placed book(const kube::Pod& pod, const cluster::PodPlan& plan, const policies::Choice& choice,
            model::NodeState& node) {
  const model::Allocation allocation = cluster::allocation_for(
      pod, node.name, plan.demand, model::grants_of(plan.demand.gpu, node, choice.placement));
  model::apply_allocation(node, allocation, 1);
  return {allocation.node, allocation.isolation, allocation.containers};
}

}  // namespace

std::string Unplaced::sentence() const {
  std::size_t nodes = 0;
  std::string text;
  for (const auto& [reason, count] : reasons) {
    nodes += count;
    text.append(text.empty() ? "" : "; ").append(std::to_string(count)).append(" × ");
    text += reason;
  }
  if (nodes == 0) return "there is no node with GPU cards";
  return "fits none of " + std::to_string(nodes) + " nodes: " + text;
}

Simulation::Simulation(const model::ClusterSnapshot& cluster, const std::set<std::string>& closed) {
  for (const model::NodeState* node : cluster.sorted_nodes()) {
    if (node->present && !node->cards().empty()) {
      nodes_.push_back({.state = *node, .closed = closed.contains(node->name)});
    }
  }
}

Simulation::Look Simulation::look_at(const cluster::PodPlan& plan, const model::NodeState& node,
                                     bool closed) {
  if (closed) return {std::nullopt, "node is cordoned (kubectl uncordon)"};
  if (auto why = in_tree_misfit(plan.demand.footprint, node); !why.empty()) {
    return {std::nullopt, std::move(why)};
  }
  auto choice = plan.policy->choose(plan.demand, node);
  if (choice) return {std::move(choice), ""};
  return {std::nullopt, std::string(model::reason(model::why_not(plan.demand.gpu, node)))};
}

void Simulation::forget_others(const cluster::PodPlan& plan) {
  if (looked_for_ && looked_for_->demand == plan.demand && looked_for_->policy == plan.policy) {
    return;
  }
  looked_for_ = plan;
  for (Site& site : nodes_) site.look.reset();
}

Outcome Simulation::place(const kube::Pod& pod, const cluster::PodPlan& plan) {
  forget_others(plan);
  Unplaced unplaced;
  Site* best = nullptr;
  for (Site& site : nodes_) {
    if (!site.look) site.look = look_at(plan, site.state, site.closed);
    if (!site.look->choice) {
      ++unplaced.reasons[site.look->why_not];
    } else if (best == nullptr || site.look->choice->score > best->look->choice->score) {
      best = &site;
    }
  }
  if (best == nullptr) return unplaced;
  const policies::Choice choice = std::move(*best->look->choice);
  best->look.reset();
  return book(pod, plan, choice, best->state);
}

Simulation::Capacity Simulation::capacity(const kube::Pod& pod, const cluster::PodPlan& plan,
                                          std::size_t most) const {
  Capacity capacity;
  for (const Site& site : nodes_) {
    model::NodeState state = site.state;
    Room room{.node = state.name, .pods = {}};
    Look look = look_at(plan, state, site.closed);
    if (!look.choice) ++capacity.none.reasons[look.why_not];
    for (; look.choice && capacity.pods < most; ++capacity.pods) {
      room.pods.push_back(book(pod, plan, *look.choice, state));
      look = look_at(plan, state, site.closed);
    }
    capacity.more = capacity.more || look.choice.has_value();
    if (!room.pods.empty()) capacity.rooms.push_back(std::move(room));
  }
  return capacity;
}

}  // namespace tangram::cli
