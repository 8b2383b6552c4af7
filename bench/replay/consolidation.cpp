#include "bench/replay/consolidation.hpp"

#include "policies/trace_pods.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tangram::bench {

namespace {

using model::NodeState;
using policies::Policy;

constexpr std::size_t kMostVictims = 16;  // the default of --max-consolidation-preemptees
/// Nodes on which room is sought for one pod: bounds the time where there is none to be made.
constexpr std::size_t kMostNodes = 64;

/// A pod that could leave its node.
struct Candidate {
  PodNumber number = 0;
  const TracePod* pod = nullptr;
  const model::Allocation* allocation = nullptr;
};

model::Allocation allocation_of(const TracePod& pod, const NodeState& node,
                                const std::vector<std::uint32_t>& gpus) {
  const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
  model::Allocation allocation;
  allocation.pod_uid = "planned";
  allocation.node = node.name;
  allocation.footprint = demand.footprint;
  allocation.containers =
      model::grants_of(demand.gpu, node, model::Placement(gpus.begin(), gpus.end()));
  return allocation;
}

/// What fits, the node's CPU and memory included.
std::optional<policies::Choice> choose(const Policy& policy, const model::PodDemand& demand,
                                       const NodeState& node) {
  if (node.free_cpu() < demand.footprint.cpu || node.free_memory() < demand.footprint.memory) {
    return std::nullopt;
  }
  return policy.choose(demand, node);
}

/// The cluster while it is planned for: some nodes are changed, the others as they are.
class Outlook {
 public:
  Outlook(const Trace& trace, const model::ClusterSnapshot& cluster, const Policy& policy)
      : policy_(policy) {
    for (const TraceNode& node : trace.nodes) nodes_.push_back(cluster.find(node.name));
  }

  using Changes = std::map<std::size_t, NodeState>;

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const NodeState& node(std::size_t index, const Changes& changes) const {
    const auto changed = changes.find(index);
    return changed == changes.end() ? *nodes_[index] : changed->second;
  }

  /// The best place by the policy's score, on a tie the first node.
  [[nodiscard]] std::optional<Placed> best(const TracePod& pod, const Changes& changes) {
    const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
    std::optional<Ranked> best;
    for (const Ranked& ranked : ranking_of(demand)) {
      if (changes.contains(ranked.node)) continue;
      best = ranked;
      break;
    }
    for (const auto& [index, state] : changes) {
      const auto choice = choose(policy_, demand, state);
      if (!choice) continue;
      const Ranked ranked{-choice->score, index};
      if (!best || ranked < *best) best = ranked;
    }
    if (!best) return std::nullopt;
    return Placed{best->node, gpus_on(pod, node(best->node, changes))};
  }

  /// Has an unchanged node room for the pod?
  [[nodiscard]] bool has_place(const TracePod& pod) {
    return !ranking_of(policies::demand_of(pod, model::Isolation::kNone)).empty();
  }
  [[nodiscard]] bool fits(const TracePod& pod, const NodeState& node) const {
    return choose(policy_, policies::demand_of(pod, model::Isolation::kNone), node).has_value();
  }
  /// @param node  that it fits
  [[nodiscard]] std::vector<std::uint32_t> gpus_on(const TracePod& pod,
                                                   const NodeState& node) const {
    const auto choice = policy_.choose(policies::demand_of(pod, model::Isolation::kNone), node);
    return {choice->placement.begin(), choice->placement.end()};
  }

 private:
  struct Ranked {
    std::int64_t less_score = 0;
    std::size_t node = 0;
    friend auto operator<=>(const Ranked&, const Ranked&) = default;
  };
  /// The unchanged nodes that have room, the best first.
  const std::vector<Ranked>& ranking_of(const model::PodDemand& demand) {
    const auto [known, is_new] = rankings_.try_emplace(demand);
    if (is_new) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const auto choice = choose(policy_, demand, *nodes_[i]);
        if (choice) known->second.push_back({-choice->score, i});
      }
      std::sort(known->second.begin(), known->second.end());
    }
    return known->second;
  }

  const Policy& policy_;
  std::vector<const NodeState*> nodes_;
  std::unordered_map<model::PodDemand, std::vector<Ranked>, policies::ShapeHash> rankings_;
};

/// One question's answer.
class Consolidating {
 public:
  Consolidating(const Trace& trace, const Policy& policy, const MovePlanner::Question& question)
      : question_(question), outlook_(trace, question.cluster, policy) {
    for (std::size_t node = 0; node < outlook_.size(); ++node) look_at(node);
    by_load_.resize(outlook_.size());
    for (std::size_t node = 0; node < by_load_.size(); ++node) by_load_[node] = node;
    std::stable_sort(by_load_.begin(), by_load_.end(),
                     [this](std::size_t a, std::size_t b) { return load_[a] < load_[b]; });
  }

  MovePlanner::Plan plan() {
    std::unordered_set<model::PodDemand, policies::ShapeHash> hopeless;
    for (std::size_t i = 0; i < question_.waiting.size(); ++i) {
      if (plan_.moves.size() == question_.most) break;
      const TracePod& pod = *question_.waiting[i];
      const model::PodDemand demand = policies::demand_of(pod, model::Isolation::kNone);
      if (hopeless.contains(demand)) continue;
      if (auto place = make_room_for(pod)) {
        plan_.beneficiaries.push_back({i, std::move(*place)});
      } else {
        hopeless.insert(demand);
      }
    }
    return std::move(plan_);
  }

 private:
  /// Notes who may leave the node, the youngest first, and what it is like without them.
  void look_at(std::size_t index) {
    const NodeState& node = outlook_.node(index, {});
    std::vector<Candidate> candidates;
    for (const model::AllocationPtr& allocation : node.allocations) {
      if (allocation->containers.empty()) continue;
      const PodNumber number = number_of(allocation->pod_name);
      const TracePod* pod = question_.movable(number);
      if (pod != nullptr) candidates.push_back({number, pod, allocation.get()});
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.number > b.number; });
    candidates.resize(std::min(candidates.size(), kMostVictims));
    std::int64_t granted = 0;
    for (const model::CardUse& use : node.use) granted += use.compute.count();
    const auto cards = static_cast<std::int64_t>(node.use.size());
    load_.push_back(cards == 0 ? 0 : granted / cards);
    std::vector<std::string> uids;
    uids.reserve(candidates.size());
    for (const Candidate& candidate : candidates) uids.push_back(candidate.allocation->pod_uid);
    emptied_.push_back(model::without_pods(node, uids));
    candidates_.push_back(std::move(candidates));
  }

  /// @returns the place that the pod has then
  std::optional<Placed> make_room_for(const TracePod& pod) {
    std::size_t tried = 0;
    for (const std::size_t node : by_load_) {
      if (changes_.contains(node) || candidates_[node].empty()) continue;
      // Whoever leaves first finds no place: nothing comes of it.
      if (!outlook_.has_place(*candidates_[node].front().pod)) continue;
      if (!outlook_.fits(pod, emptied_[node])) continue;
      if (auto place = empty_for(pod, node)) return place;
      if (++tried == kMostNodes) break;
    }
    return std::nullopt;
  }

  /// Supposes that more and more pods leave the node, until the pod fits.
  std::optional<Placed> empty_for(const TracePod& pod, std::size_t node) {
    const std::vector<Candidate>& candidates = candidates_[node];
    const std::size_t most = std::min(candidates.size(), question_.most - plan_.moves.size());
    NodeState state = outlook_.node(node, changes_);
    for (std::size_t count = 1; count <= most; ++count) {
      state = model::without_pods(state, {candidates[count - 1].allocation->pod_uid});
      if (outlook_.fits(pod, state)) return relocate(pod, node, std::move(state), count);
    }
    return std::nullopt;
  }

  /// The pod takes its place, and those that left find others.
  std::optional<Placed> relocate(const TracePod& pod, std::size_t node, NodeState state,
                                 std::size_t count) {
    Outlook::Changes changes = changes_;
    Placed place{node, outlook_.gpus_on(pod, state)};
    changes.insert_or_assign(node, std::move(state));
    settle(pod, place, changes);
    std::vector<Scheduler::Move> moves;
    for (std::size_t i = 0; i < count; ++i) {
      const Candidate& victim = candidates_[node][i];
      const auto next = outlook_.best(*victim.pod, changes);
      if (!next) return std::nullopt;
      moves.push_back({.number = victim.number, .pod = *victim.pod, .to = *next});
      settle(*victim.pod, *next, changes);
    }
    plan_.moves.insert(plan_.moves.end(), moves.begin(), moves.end());
    changes_ = std::move(changes);
    return place;
  }

  void settle(const TracePod& pod, const Placed& place, Outlook::Changes& changes) const {
    const NodeState& node = outlook_.node(place.node, changes);
    changes.insert_or_assign(place.node,
                             model::with_pod(node, allocation_of(pod, node, place.gpus)));
  }

  const MovePlanner::Question& question_;
  Outlook outlook_;
  Outlook::Changes changes_;
  std::vector<std::vector<Candidate>> candidates_;  ///< by node
  std::vector<NodeState> emptied_;                  ///< by node: without all of them
  std::vector<std::int64_t> load_;                  ///< by node: mean milli of its cards
  std::vector<std::size_t> by_load_;
  MovePlanner::Plan plan_;
};

class Consolidation final : public MovePlanner {
 public:
  Consolidation(const Trace& trace, const InProcessScheduler& scheduler)
      : trace_(trace), scheduler_(scheduler) {}

  [[nodiscard]] Plan plan(const Question& question) override {
    return Consolidating(trace_, scheduler_.policy(), question).plan();
  }

 private:
  const Trace& trace_;
  const InProcessScheduler& scheduler_;
};

}  // namespace

std::unique_ptr<MovePlanner> make_consolidation(const Trace& trace,
                                                const InProcessScheduler& scheduler) {
  return std::make_unique<Consolidation>(trace, scheduler);
}

}  // namespace tangram::bench
