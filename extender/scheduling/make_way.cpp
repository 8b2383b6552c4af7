#include "extender/scheduling/make_way.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace tangram::extender {

namespace {

bool yields(const model::Allocation& allocation, int priority) {
  return allocation.tentative && allocation.priority < priority;
}

/// Of the pods less important than that, the most important first.
std::vector<model::AllocationPtr> yielding(const model::NodeState& node, int priority) {
  std::vector<model::AllocationPtr> pods;
  std::copy_if(node.allocations.begin(), node.allocations.end(), std::back_inserter(pods),
               [&](const model::AllocationPtr& pod) { return yields(*pod, priority); });
  std::stable_sort(pods.begin(), pods.end(),
                   [](const auto& a, const auto& b) { return a->priority > b->priority; });
  return pods;
}

model::NodeState without(const model::NodeState& node,
                         const std::vector<model::AllocationPtr>& pods) {
  std::vector<std::string> uids;
  uids.reserve(pods.size());
  for (const model::AllocationPtr& pod : pods) uids.push_back(pod->pod_uid);
  return model::without_pods(node, uids);
}

}  // namespace

std::optional<model::NodeState> without_yielding(const model::NodeState& node, int priority) {
  const auto pods = yielding(node, priority);
  if (pods.empty()) return std::nullopt;
  return without(node, pods);
}

std::optional<Displacement> make_way(const model::NodeState& node, const model::PodDemand& demand,
                                     const policies::Policy& policy, int priority,
                                     model::SearchBudget& budget) {
  const auto pods = yielding(node, priority);
  if (pods.empty()) return std::nullopt;
  model::NodeState emptied = without(node, pods);
  auto choice = policy.choose(demand, emptied, budget);
  if (!choice) return std::nullopt;
  Displacement way{.node = std::move(emptied), .choice = *std::move(choice), .displaced = {}};
  const std::int64_t skipped = budget.skipped();
  for (const model::AllocationPtr& pod : pods) {
    model::NodeState with = model::with_pod(way.node, *pod);
    if (auto beside = policy.choose(demand, with, budget)) {
      way.node = std::move(with);
      way.choice = *std::move(beside);
    } else {
      way.displaced.insert(pod->pod_uid);
    }
  }
  if (budget.skipped() > skipped) return std::nullopt;  // perhaps fewer would do
  return way;
}

std::optional<DisplacementOn> make_way_on_best(const std::vector<model::AllocationPtr>& unconfirmed,
                                               const AskedNodes& asked,
                                               const model::PodDemand& demand,
                                               const PodView& cluster,
                                               const policies::Policy& policy, int priority,
                                               model::SearchBudget& budget) {
  std::set<std::string_view> nodes;
  for (const model::AllocationPtr& allocation : unconfirmed) {
    if (yields(*allocation, priority)) nodes.insert(allocation->node);
  }
  if (nodes.empty()) return std::nullopt;
  std::optional<DisplacementOn> best;
  std::size_t ways = 0;
  const auto rank = [&](const DisplacementOn& way) {
    return std::pair(!asked.refused.contains(asked.names[way.index]), way.choice.score);
  };
  for (std::uint32_t i = 0; i < asked.names.size(); ++i) {
    const std::string_view name = asked.names[i];
    const model::NodeState* node = nodes.contains(name) ? cluster.find(name) : nullptr;
    if (node == nullptr) continue;
    auto way = make_way(*node, demand, policy, priority, budget);
    if (!way) continue;
    ++ways;
    DisplacementOn here{*std::move(way), i};
    if (!best || rank(here) > rank(*best)) best = std::move(here);
  }
  if (best) best->more = ways > 1;
  return best;
}

}  // namespace tangram::extender
