#include "cluster/rankings.hpp"

#include "cluster/victims.hpp"
#include "model/fetch_ahead.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cluster {

namespace {

using Found = model::ClusterSnapshot::Found;
using model::NodeState;

}  // namespace

Rankings::Rankings(const model::ClusterSnapshot& cluster, OpenNodes& open,
                   model::SearchBudget& steps, model::SearchBudget& searches)
    : open_(open),
      steps_(steps),
      searches_(searches),
      nodes_(cluster.present()),
      order_(cluster.slots(), 0) {
  auto by_name = nodes_;
  std::ranges::sort(by_name, {},
                    [](const Found& found) -> const std::string& { return found.node->name; });
  std::uint32_t next = 0;
  for (const Found& found : by_name) order_[found.index] = next++;
}

std::optional<std::int64_t> Rankings::score(const PodPlan& plan, const NodeState& node) {
  steps_.spend(1);
  if (!fits_in_tree(plan.demand, node)) return std::nullopt;
  const auto choice = plan.policy->choose(plan.demand, node, searches_);
  return choice ? std::optional(choice->score) : std::nullopt;
}

Rankings::Ranking& Rankings::ranking_of(const PlacelessPod& pod) {
  Key key{.policy = pod.plan.policy, .shape = policies::shape_of(pod.plan.demand)};
  const auto [entry, is_new] = by_shape_.try_emplace(std::move(key));
  Ranking& ranking = entry->second;
  if (!is_new) return ranking;
  const model::FetchAhead ahead(nodes_.size(), [&](std::size_t i) { return nodes_[i].node; });
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    ahead.at(i);
    const Found& found = nodes_[i];
    if (const auto scored = score(pod.plan, *found.node)) {
      ranking.nodes.push_back({*scored, order_[found.index], found.index});
    }
  }
  std::sort(ranking.nodes.begin(), ranking.nodes.end());
  return ranking;
}

std::optional<Rankings::Entry> Rankings::best_unchanged(const PlacelessPod& pod,
                                                        const Ranking& ranking,
                                                        const ChangedCluster& cluster) {
  for (const Entry& entry : ranking.nodes) {
    if (cluster.changed().contains(entry.node)) continue;
    if (open_.take(*pod.pod, entry.node)) return entry;
  }
  return std::nullopt;
}

std::optional<Rankings::Entry> Rankings::best_changed(const PlacelessPod& pod, Ranking& ranking,
                                                      const ChangedCluster& cluster) {
  std::optional<Entry> best;
  for (const auto& [index, node] : cluster.changed()) {
    Rescored& rescored = ranking.changed[index];
    if (rescored.state != node.crowded) {
      rescored = {.state = node.crowded, .score = score(pod.plan, *node.crowded)};
    }
    if (!rescored.score) continue;
    const Entry entry{*rescored.score, order_[index], index};
    if ((!best || entry < *best) && open_.take(*pod.pod, index)) best = entry;
  }
  return best;
}

std::optional<Rankings::Place> Rankings::best(const PlacelessPod& pod,
                                              const ChangedCluster& cluster) {
  Ranking& ranking = ranking_of(pod);
  auto best = best_changed(pod, ranking, cluster);
  const auto unchanged = best_unchanged(pod, ranking, cluster);
  if (unchanged && (!best || *unchanged < *best)) best = unchanged;
  if (!best) return std::nullopt;
  auto choice = pod.plan.policy->choose(pod.plan.demand, cluster.crowded(best->node), searches_);
  if (!choice) return std::nullopt;
  return Place{.node = best->node, .cards = std::move(choice->placement)};
}

}  // namespace tangram::cluster
