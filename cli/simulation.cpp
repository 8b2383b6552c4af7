#include "cli/simulation.hpp"

#include "extender/holdings.hpp"
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

struct Look {
  std::optional<policies::Choice> choice;
  std::string why_not;  ///< if there is none
};

Look look_at(const extender::PodPlan& plan, const model::NodeState& node, bool closed) {
  if (closed) return {std::nullopt, "node is cordoned (kubectl uncordon)"};
  if (auto why = in_tree_misfit(plan.demand.footprint, node); !why.empty()) {
    return {std::nullopt, std::move(why)};
  }
  auto choice = plan.policy->choose(plan.demand, node);
  if (choice) return {std::move(choice), ""};
  return {std::nullopt, std::string(model::reason(model::why_not(plan.demand.gpu, node)))};
}

/// Books the choice on the node.
Placed book(const kube::Pod& pod, const extender::PodPlan& plan, const policies::Choice& choice,
            model::NodeState& node) {
  const model::Holding holding = extender::holding_for(
      pod, node.name, plan.demand, model::grants_of(plan.demand.gpu, node, choice.placement));
  model::apply_holding(node, holding, 1);
  return {holding.node, holding.isolation, holding.containers};
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
      nodes_.push_back({*node, closed.contains(node->name)});
    }
  }
}

Outcome Simulation::place(const kube::Pod& pod, const extender::PodPlan& plan) {
  Unplaced unplaced;
  Site* best = nullptr;
  policies::Choice choice;
  for (Site& site : nodes_) {
    Look look = look_at(plan, site.state, site.closed);
    if (!look.choice) {
      ++unplaced.reasons[look.why_not];
    } else if (best == nullptr || look.choice->score > choice.score) {
      best = &site;
      choice = std::move(*look.choice);
    }
  }
  if (best == nullptr) return unplaced;
  return book(pod, plan, choice, best->state);
}

Simulation::Capacity Simulation::capacity(const kube::Pod& pod, const extender::PodPlan& plan,
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
