#include "cluster/victims.hpp"

#include "model/request.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace tangram::cluster {

namespace {

using model::Allocation;
using model::AllocationPtr;
using model::NodeState;
using Pods = std::vector<AllocationPtr>;

/// Makes each priority positive.
constexpr std::int64_t kPriorityShift = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;

bool holds(const Allocation& allocation, std::string_view card) {
  return std::ranges::any_of(allocation.containers, [&](const auto& part) {
    return std::ranges::any_of(part.cards,
                               [&](const auto& granted) { return granted.uuid == card; });
  });
}

/// The smaller ones are spared first, of pods that end those of one priority.
void sort_for(VictimOrder order, Pods& pods) {
  const auto key = [order](const AllocationPtr& pod) {
    const std::int64_t priority = order == VictimOrder::kImportance ? pod->priority : 0;
    return std::tuple(-priority, compute_of(*pod), std::string_view(pod->pod_uid));
  };
  std::ranges::sort(pods, [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

NodeState without(const NodeState& node, const Pods& pods) {
  return model::without_pods(node, VictimSet{.pods = pods}.uids());
}

/// What is left of each budget.
class Allowed {
 public:
  Allowed(const BudgetList& budgets, const Pods& gone) : budgets_(budgets) {
    left_.reserve(budgets.size());
    for (const BudgetPtr& budget : budgets) left_.push_back(budget->allowed);
    for (const AllocationPtr& pod : gone) (void)take(*pod);
  }
  /// The pod leaves. @returns whether that breaks a budget
  bool take(const Allocation& pod) {
    bool broken = false;
    for (std::size_t i = 0; i < budgets_.size(); ++i) {
      if (covers(i, pod) && --left_[i] < 0) broken = true;
    }
    return broken;
  }
  [[nodiscard]] bool covers(std::size_t budget, const Allocation& pod) const {
    return budgets_[budget]->covers(pod.pod_namespace, pod.pod_name, pod.labels.get());
  }
  [[nodiscard]] std::size_t size() const { return left_.size(); }

 private:
  const BudgetList& budgets_;
  std::vector<int> left_;
};

Pods evictable(const Preemptor& preemptor, const NodeState& node) {
  Pods pods;
  std::ranges::copy_if(node.allocations, std::back_inserter(pods), [&](const AllocationPtr& pod) {
    return pod->priority < preemptor.priority && !pod->tentative && !pod->terminating &&
           !pod->containers.empty() && !preemptor.spared.contains(pod->pod_uid);
  });
  return pods;
}

/// Is there room on a node? With fewer pods there is never less.
using HasRoom = std::function<bool(const NodeState&)>;

/// Who of some pods of a node must leave it to make room.
class Search {
 public:
  /// @param candidates   pods of the node
  /// @param preemptor    whose tries and order count
  Search(const NodeState& node, Pods candidates, const Allowed& allowed, HasRoom has_room,
         const Preemptor& preemptor)
      : candidates_(std::move(candidates)),
        allowed_(allowed),
        has_room_(std::move(has_room)),
        tries_(preemptor.tries),
        order_(preemptor.order),
        emptied_(without(node, candidates_)) {
    sort_for(order_, candidates_);
    note_alike();
  }

  /// @param start  a set that makes room; nothing = none is known
  /// @returns the cheapest, `start` included
  std::optional<VictimSet> run(std::optional<VictimSet> start = std::nullopt) {
    if (candidates_.empty() || !has_room_(emptied_)) return start;
    best_ = greedy();
    if (start && is_cheaper(*start, best_)) best_ = *std::move(start);
    left_.assign(candidates_.size(), false);
    descend(0, emptied_, {}, allowed_);
    return best_;
  }

 private:
  [[nodiscard]] bool is_cheaper(const VictimSet& a, const VictimSet& b) const {
    return a.cost(order_) < b.cost(order_);
  }

  /// All leave, then as many as possible come back: first those whose leaving breaks a budget.
  [[nodiscard]] VictimSet greedy() const {
    Allowed allowed = allowed_;
    std::set<const Allocation*> breakers;
    for (const AllocationPtr& pod : candidates_) {
      if (allowed.take(*pod)) breakers.insert(pod.get());
    }
    Pods order = candidates_;
    std::stable_partition(order.begin(), order.end(),
                          [&](const auto& pod) { return breakers.contains(pod.get()); });
    NodeState state = emptied_;
    std::set<const Allocation*> leaving;
    tries_.spend(static_cast<std::int64_t>(order.size()));
    for (const AllocationPtr& pod : order) {
      NodeState with = model::with_pod(state, *pod);
      if (has_room_(with)) {
        state = std::move(with);
      } else {
        leaving.insert(pod.get());
      }
    }
    return set_of([&](const auto& pod) { return leaving.contains(pod.get()); });
  }

  template <class Leaves>
  [[nodiscard]] VictimSet set_of(const Leaves& leaves) const {
    Allowed allowed = allowed_;
    VictimSet set;
    for (const AllocationPtr& pod : candidates_) {
      if (leaves(pod)) add(set, allowed, pod);
    }
    return set;
  }
  static void add(VictimSet& set, Allowed& allowed, const AllocationPtr& pod) {
    set.pods.push_back(pod);
    if (allowed.take(*pod)) ++set.broken_budgets;
  }

  /// For each candidate the last one before it that is no different: of those, the first ones stay.
  void note_alike() {
    alike_.assign(candidates_.size(), kNone);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      for (std::size_t j = i; j-- > 0 && alike_[i] == kNone;) {
        if (are_alike(*candidates_[i], *candidates_[j])) alike_[i] = j;
      }
    }
  }
  [[nodiscard]] bool are_alike(const Allocation& a, const Allocation& b) const {
    const auto same_part = [](const model::ContainerGrant& x, const model::ContainerGrant& y) {
      return x.cards == y.cards;
    };
    // A revised grant may free another amount than it says, until its node's agent has applied it.
    if (a.revision > 0 || b.revision > 0 || a.priority != b.priority ||
        a.footprint != b.footprint || a.isolation != b.isolation ||
        !std::ranges::equal(a.containers, b.containers, same_part)) {
      return false;
    }
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      if (allowed_.covers(i, a) != allowed_.covers(i, b)) return false;
    }
    return true;
  }

  /// Decides about the candidates from the index on. Those before it that stay are in `state`, and
  /// the pod fits beside them; the others are in `leaving`.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as a node has pods
  void descend(std::size_t index, const NodeState& state, const VictimSet& leaving,
               const Allowed& allowed) {
    if (index == candidates_.size()) {
      if (is_cheaper(leaving, best_)) best_ = leaving;
      return;
    }
    const AllocationPtr& pod = candidates_[index];
    VictimSet one_more = leaving;
    Allowed after = allowed;
    add(one_more, after, pod);
    const bool must_leave = alike_[index] != kNone && left_[alike_[index]];
    if (!must_leave) {
      if (tries_.spent() || ++tried_ > kMostTriesOfASet) return;
      tries_.spend(1);
      NodeState with = model::with_pod(state, *pod);
      left_[index] = false;
      if (has_room_(with)) descend(index + 1, with, leaving, allowed);
    }
    if (!is_cheaper(one_more, best_)) return;  // nor will it be with more pods
    left_[index] = true;
    descend(index + 1, state, one_more, after);
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  Pods candidates_;
  const Allowed& allowed_;
  const HasRoom has_room_;
  model::SearchBudget& tries_;
  const VictimOrder order_;
  const NodeState emptied_;
  std::vector<std::size_t> alike_;
  std::vector<bool> left_;  ///< of the candidates decided about
  std::int64_t tried_ = 0;
  VictimSet best_;
};

Pods on_card(const Pods& pods, std::string_view card) {
  Pods there;
  std::ranges::copy_if(pods, std::back_inserter(there),
                       [&](const AllocationPtr& pod) { return holds(*pod, card); });
  return there;
}

/// The one of the sets that makes room on one card.
std::optional<VictimSet> cheapest_on_one_card(const Preemptor& preemptor, const NodeState& node,
                                              const Pods& pods, const Allowed& allowed) {
  std::optional<VictimSet> best;
  for (const model::Card& card : node.cards()) {
    auto victims = Search(
                       node, on_card(pods, card.id), allowed,
                       [&](const NodeState& state) { return fits(preemptor, state); }, preemptor)
                       .run();
    const auto order = preemptor.order;
    if (victims && (!best || victims->cost(order) < best->cost(order))) best = std::move(victims);
  }
  return best;
}

/// Makes room on the cards where that is cheapest, each for itself. A good first set for one
/// container that takes several cards: pods that hold one card each are not spread over the others.
Pods cheapest_by_card(const Preemptor& preemptor, const NodeState& node, const Pods& pods,
                      const Allowed& allowed) {
  const model::ContainerRequest& container = preemptor.demand.gpu.containers.front();
  std::vector<VictimSet> by_card;
  for (std::uint32_t i = 0; i < node.cards().size(); ++i) {
    const auto has_room = [&](const NodeState& state) {
      const model::Slice slice = slice_of(container.share, state.traits()[i]);
      return !card_misfit(preemptor.demand.gpu, slice, state, i).has_value();
    };
    if (has_room(node)) {
      by_card.emplace_back();
      continue;
    }
    auto victims =
        Search(node, on_card(pods, node.cards()[i].id), allowed, has_room, preemptor).run();
    if (victims) by_card.push_back(*std::move(victims));
  }
  const auto count = static_cast<std::size_t>(container.count);
  if (by_card.size() < count) return {};
  std::ranges::sort(by_card, {}, [&](const VictimSet& set) { return set.cost(preemptor.order); });
  std::set<AllocationPtr> leaving;
  for (std::size_t i = 0; i < count; ++i) {
    leaving.insert(by_card[i].pods.begin(), by_card[i].pods.end());
  }
  return {leaving.begin(), leaving.end()};
}

}  // namespace

MilliGpu compute_of(const Allocation& allocation) {
  MilliGpu compute;
  for (const auto& part : allocation.containers) {
    for (const auto& card : part.cards) compute += card.compute;
  }
  return compute;
}

VictimSet::Cost VictimSet::cost(VictimOrder order) const {
  if (order == VictimOrder::kEffort) {
    std::int64_t milli = 0;
    for (const AllocationPtr& pod : pods) milli += compute_of(*pod).count();
    return {broken_budgets, static_cast<std::int64_t>(pods.size()), milli, pods.size()};
  }
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  std::int64_t sum = 0;
  for (const AllocationPtr& pod : pods) {
    highest = std::max<std::int64_t>(highest, pod->priority);
    sum += std::int64_t{pod->priority} + kPriorityShift;
  }
  return {broken_budgets, highest, sum, pods.size()};
}

std::vector<std::string> VictimSet::uids() const {
  std::vector<std::string> uids;
  uids.reserve(pods.size());
  for (const AllocationPtr& pod : pods) uids.push_back(pod->pod_uid);
  return uids;
}

bool fits_in_tree(const model::PodDemand& demand, const NodeState& node) {
  const model::Footprint& pod = demand.footprint;
  return pod.cpu <= node.free_cpu() && pod.memory <= node.free_memory() &&
         (node.inventory->slots == 0 || node.requested.slots + pod.slots <= node.inventory->slots);
}

bool fits(const Preemptor& preemptor, const NodeState& node) {
  return fits_in_tree(preemptor.demand, node) &&
         preemptor.policy.choose(preemptor.demand, node, preemptor.searches).has_value();
}

std::optional<VictimSet> cheapest_victims(const Preemptor& preemptor, const NodeState& node,
                                          const Pods& gone) {
  if (fits(preemptor, node)) return std::nullopt;
  const Pods pods = evictable(preemptor, node);
  const Allowed allowed(preemptor.budgets, gone);
  const auto& containers = preemptor.demand.gpu.containers;
  const bool of_one_kind = containers.size() == 1;
  std::optional<VictimSet> start;
  if (of_one_kind && containers.front().count == 1) {
    start = cheapest_on_one_card(preemptor, node, pods, allowed);
    // Pods beside that card give it nothing.
    if (start && fits_in_tree(preemptor.demand, node)) return start;
  }
  const auto has_room = [&](const NodeState& state) { return fits(preemptor, state); };
  if (of_one_kind && containers.front().count > 1) {
    start =
        Search(node, cheapest_by_card(preemptor, node, pods, allowed), allowed, has_room, preemptor)
            .run();
  }
  return Search(node, pods, allowed, has_room, preemptor).run(std::move(start));
}

std::optional<Preemption> cheapest_preemption(const Preemptor& preemptor,
                                              std::vector<const NodeState*> nodes,
                                              const Pods& gone) {
  std::ranges::stable_sort(nodes, {}, &NodeState::least_priority);
  std::optional<Preemption> best;
  for (const NodeState* node : nodes) {
    if (node->least_priority >= preemptor.priority || preemptor.tries.spent()) break;
    // A single victim of the node's least priority would be the cheapest that it can offer.
    const VictimSet::Cost least{0, node->least_priority,
                                std::int64_t{node->least_priority} + kPriorityShift, 1};
    if (best && best->victims.cost() <= least) break;
    const std::int64_t skipped = preemptor.searches.skipped();
    auto victims = cheapest_victims(preemptor, *node, gone);
    if (preemptor.searches.skipped() > skipped) break;
    if (!victims || victims->broken_budgets > 0) continue;
    if (!best || victims->cost() < best->victims.cost()) {
      best = Preemption{node->name, *std::move(victims)};
    }
  }
  return best;
}

std::optional<Preemption> expected_preemption(const model::PodDemand& demand,
                                              const policies::Policy& policy, int priority,
                                              const BudgetList& budgets,
                                              std::vector<const NodeState*> nodes,
                                              const Pods& gone) {
  constexpr std::int64_t kSearchSteps = 2'000'000;  // up to 0.1 s
  const model::Ledger::Uids no_pods;
  model::SearchBudget searches(kSearchSteps);
  model::SearchBudget tries(kVictimTries);
  return cheapest_preemption({.demand = demand,
                              .policy = policy,
                              .priority = priority,
                              .spared = no_pods,
                              .budgets = budgets,
                              .searches = searches,
                              .tries = tries},
                             std::move(nodes), gone);
}

}  // namespace tangram::cluster
