#include "cluster/moves.hpp"

#include "cluster/allocations.hpp"
#include "cluster/movers.hpp"
#include "cluster/open_nodes.hpp"
#include "cluster/prospects.hpp"
#include "cluster/rankings.hpp"
#include "cluster/victims.hpp"
#include "cluster/wanted_kinds.hpp"
#include "policies/demand_size.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace tangram::cluster {

namespace {

using model::Allocation;
using model::AllocationPtr;
using model::NodeIndex;
using model::NodeState;

__extension__ using Wide = __int128;

/// Kinds of wanted pods that could run, of which the best is taken in each round.
constexpr std::size_t kOptions = 32;
/// Nodes that are searched for one pod, the most promising ones. The first ones nearly always
/// contain the best.
constexpr std::size_t kNodes = 64;
/// Sets of pods that are tried on a node, each without one whose next pod found no place.
constexpr std::size_t kSets = 8;

/// What lets one wanted pod run.
struct Option {
  std::size_t wanted = 0;
  NodeIndex node = 0;  ///< where it runs, and where the pods leave
  Allocation place;
  std::vector<Move> moves;
  std::int64_t gain = 0;  ///< milli
  std::int64_t cost = 0;  ///< milli
  ChangedCluster changed;

  [[nodiscard]] Effort effort() const {
    return {static_cast<std::int64_t>(moves.size()) * kPod, cost};
  }
};

bool is_cheaper(const std::optional<Option>& a, const std::optional<Option>& b) {
  return a && (!b || a->effort() < b->effort());
}

Allocation place_of(const PlacelessPod& pod, const NodeState& node,
                    const model::Placement& placement, std::string uid) {
  Allocation place = allocation_for(*pod.pod, node, pod.plan.demand, placement);
  place.footprint = pod.plan.demand.footprint;
  place.pod_uid = std::move(uid);
  place.tentative = true;
  return place;
}

/// Steps to find out which wanted pods fit already: half, so that as many are left for plans.
std::int64_t seating_steps(const MoveLimits& limits) { return limits.steps / 2; }

class Planner {
 public:
  explicit Planner(const MoveQuestion& question);
  MovePlan run();

 private:
  void make_moves();
  void seat_those_that_fit();
  [[nodiscard]] std::optional<Option> best_option();
  [[nodiscard]] bool has_hope(const WantedKind& kind) const;
  [[nodiscard]] std::optional<Option> option_of(const WantedKind& kind);
  void give_up_like_the_last(const WantedKind& kind);
  [[nodiscard]] bool is_better(const Option& a, const Option& b) const;
  void seat_more_on(NodeIndex node);
  [[nodiscard]] std::optional<policies::Choice> look_at(const PlacelessPod& pod,
                                                        const NodeState& node);
  void arrive(Option& option, const model::Placement& cards) const;
  [[nodiscard]] bool takes(NodeIndex node, const kube::Pod& pod);
  [[nodiscard]] std::optional<Option> cheapest_option(std::size_t wanted);
  [[nodiscard]] std::optional<Option> option_on(std::size_t wanted, NodeIndex node);
  /// @returns the pod that finds no place; null = all do, and the option is complete
  [[nodiscard]] const Allocation* settle(Option& option, const std::vector<AllocationPtr>& leaving);
  [[nodiscard]] bool is_stuck(const Allocation& pod);
  /// Is it known that the pod has no place where none was found?
  [[nodiscard]] bool was_looked_for(const PlacelessPod& pod) const;
  void commit(Option option);
  [[nodiscard]] std::int64_t gain_of(const WantedPod& wanted, const NodeState& node,
                                     const model::Placement& cards) const;
  [[nodiscard]] std::size_t moves_left() const {
    return question_.limits.moves - std::min(question_.limits.moves, plan_.moves.size());
  }

  const MoveQuestion& question_;
  model::SearchBudget steps_;
  model::SearchBudget searches_;
  OpenNodes open_;
  Rankings rankings_;
  ChangedCluster now_;
  std::optional<Prospects> prospects_;  ///< once a pod needs moves
  Movers movers_;
  std::vector<WantedKind> kinds_;
  std::set<std::size_t> hopeless_;  ///< wanted pods without an option
  std::vector<AllocationPtr> gone_;
  // Of the last pod that room was looked for:
  bool not_all_tried_ = false;      ///< of the nodes and sets that could make room
  std::vector<NodeIndex> refused_;  ///< nodes that do not take it, the most promising
  MovePlan plan_;
};

Planner::Planner(const MoveQuestion& question)
    : question_(question),
      steps_(seating_steps(question.limits)),
      searches_(question.limits.searches),
      open_(question.cluster, *question.takes, steps_),
      rankings_(question.cluster, open_, steps_, searches_),
      now_(question.cluster),
      movers_(question) {}

std::int64_t Planner::gain_of(const WantedPod& wanted, const NodeState& node,
                              const model::Placement& cards) const {
  std::int64_t milli = 0;
  model::for_each_pick(wanted.next.plan.demand.gpu, node, cards,
                       [&](const auto& /*container*/, const model::Slice& slice, auto card) {
                         milli += policies::size_on(slice, node.traits()[card]);
                       });
  return milli;
}

/// Those that need no move take their room first: it is as good as taken. Pods that the steps do
/// not suffice for are left out of the plan: whether they fit is not known.
void Planner::seat_those_that_fit() {
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < question_.wanted.size(); ++i) {
    const WantedPod& wanted = question_.wanted[i];
    if (!wanted.next.plan.demand.gpu.asks_gpu()) continue;
    if (steps_.spent()) {
      plan_.cut_short = true;
      break;
    }
    const auto place = rankings_.best(wanted.next, now_);
    if (place) {
      Allocation pod = place_of(wanted.next, now_.crowded(place->node), place->cards,
                                "wanted/" + std::to_string(i));
      now_.come(place->node, pod);
      plan_.fit_already.push_back({.wanted = i, .place = std::move(pod)});
    } else if (was_looked_for(wanted.next)) {
      waiting.push_back(i);
    } else {
      plan_.cut_short = true;  // whether it fits is not known
    }
  }
  kinds_ = kinds_of(question_.wanted, waiting);
}

MovePlan Planner::run() {
  make_moves();
  if (steps_.spent() || searches_.skipped() > 0) plan_.cut_short = true;
  return std::move(plan_);
}

void Planner::make_moves() {
  seat_those_that_fit();
  steps_.spend(seating_steps(question_.limits) - question_.limits.steps);  // the other half
  if (kinds_.empty() || question_.limits.moves == 0) return;
  prospects_.emplace(
      question_.cluster, rankings_, [this](const Allocation& pod) { return movers_.has(pod); },
      steps_);
  while (moves_left() > 0) {
    auto option = best_option();
    if (!option) return;
    const NodeIndex node = option->node;
    commit(*std::move(option));
    seat_more_on(node);
  }
}

std::optional<Option> Planner::best_option() {
  std::optional<Option> best;
  std::size_t options = 0;
  for (const WantedKind& kind : kinds_) {
    if (!has_hope(kind)) continue;
    if (steps_.spent() || options == kOptions) {
      plan_.cut_short = true;
      break;
    }
    auto option = option_of(kind);
    if (!option) continue;
    ++options;
    if (!best || is_better(*option, *best)) best = std::move(option);
  }
  return best;
}

bool Planner::has_hope(const WantedKind& kind) const {
  return std::ranges::any_of(kind.waiting,
                             [&](auto wanted) { return !hopeless_.contains(wanted); });
}

/// Of the first of them that has one.
std::optional<Option> Planner::option_of(const WantedKind& kind) {
  for (const std::size_t wanted : kind.waiting) {
    if (hopeless_.contains(wanted)) continue;
    if (auto option = cheapest_option(wanted)) return option;
    give_up_like_the_last(kind);
  }
  return std::nullopt;
}

/// No moves were found for one of them. The others have no hope either, but those that take a node
/// which did not take it.
void Planner::give_up_like_the_last(const WantedKind& kind) {
  for (const std::size_t wanted : kind.waiting) {
    const kube::Pod& pod = *question_.wanted[wanted].next.pod;
    const bool has_other_nodes =
        std::ranges::any_of(refused_, [&](NodeIndex node) { return open_.take(pod, node); });
    if (!has_other_nodes) hopeless_.insert(wanted);
  }
}

/// More gain per pod that moves; on a tie, less that moves.
bool Planner::is_better(const Option& a, const Option& b) const {
  const auto value = [&](const Option& option, std::size_t moves_of_other) {
    return Wide{option.gain} * question_.wanted[option.wanted].weight *
           static_cast<std::int64_t>(moves_of_other);
  };
  const Wide left = value(a, b.moves.size());
  const Wide right = value(b, a.moves.size());
  return left != right ? left > right : a.cost < b.cost;
}

void Planner::commit(Option option) {
  for (WantedKind& kind : kinds_) std::erase(kind.waiting, option.wanted);
  for (Move& move : option.moves) {
    gone_.push_back(move.pod);
    plan_.moves.push_back(std::move(move));
  }
  plan_.arrivals.push_back({.wanted = option.wanted,
                            .place = std::move(option.place),
                            .after = plan_.moves.size(),
                            .gain_milli = option.gain});
  plan_.gained_milli += option.gain;
  plan_.moved_milli += option.cost;
  now_ = std::move(option.changed);
}

/// Room that the last moves make beyond what they were made for. Elsewhere there is none: it would
/// have been taken before.
void Planner::seat_more_on(NodeIndex node) {
  for (const WantedKind& kind : kinds_) {
    for (const std::size_t wanted : std::vector(kind.waiting)) {
      const PlacelessPod& pod = question_.wanted[wanted].next;
      if (!open_.take(*pod.pod, node)) continue;
      const auto choice = look_at(pod, now_.after(node));
      if (!choice) break;
      Option option{.wanted = wanted, .node = node, .place = {}, .moves = {}, .changed = now_};
      arrive(option, choice->placement);
      commit(std::move(option));
    }
  }
}

std::optional<policies::Choice> Planner::look_at(const PlacelessPod& pod, const NodeState& node) {
  steps_.spend(1);
  if (!fits_in_tree(pod.plan.demand, node)) return std::nullopt;
  return pod.plan.policy->choose(pod.plan.demand, node, searches_);
}

/// The wanted pod comes to the option's node once all have left it that leave.
void Planner::arrive(Option& option, const model::Placement& cards) const {
  const WantedPod& wanted = question_.wanted[option.wanted];
  const NodeState& left = option.changed.after(option.node);
  option.gain = gain_of(wanted, left, cards);
  option.place = place_of(wanted.next, left, cards, "wanted/" + std::to_string(option.wanted));
  option.changed.come(option.node, option.place);
}

/// Notes the most promising nodes that do not.
bool Planner::takes(NodeIndex node, const kube::Pod& pod) {
  if (open_.take(pod, node)) return true;
  if (refused_.size() < kNodes) refused_.push_back(node);
  return false;
}

std::optional<Option> Planner::cheapest_option(std::size_t wanted) {
  const PlacelessPod& pod = question_.wanted[wanted].next;
  std::optional<Option> best;
  std::size_t searched = 0;
  not_all_tried_ = false;
  refused_.clear();
  for (const auto& [effort, order, node] : prospects_->of(pod.plan.demand, now_)) {
    const bool too_much = effort.pods > kPod * static_cast<std::int64_t>(moves_left());
    if (too_much || (best && best->effort() <= effort)) break;
    if (steps_.spent() || searched == kNodes) {
      not_all_tried_ = true;
      break;
    }
    if (!takes(node, *pod.pod)) continue;
    ++searched;
    auto option = option_on(wanted, node);
    if (is_cheaper(option, best)) best = std::move(option);
  }
  if (not_all_tried_) plan_.cut_short = true;
  return best;
}

bool Planner::is_stuck(const Allocation& pod) {
  const PlacelessPod* next = movers_.next_of(pod);
  if (next != nullptr && rankings_.best(*next, now_)) return false;
  if (next == nullptr || was_looked_for(*next)) movers_.remove(pod);
  return true;
}

/// Rankings look at all nodes, but for pods whose searches are skipped once the budget is spent.
bool Planner::was_looked_for(const PlacelessPod& pod) const {
  return !searches_.spent() || pod.plan.demand.gpu.containers.size() <= 1;
}

std::optional<Option> Planner::option_on(std::size_t wanted, NodeIndex node) {
  const PlacelessPod& pod = question_.wanted[wanted].next;
  const NodeState& state = now_.after(node);
  model::Ledger::Uids spared;
  for (const AllocationPtr& there : state.allocations) {
    if (!movers_.has(*there)) spared.insert(there->pod_uid);
  }
  for (std::size_t tried = 0; !steps_.spent(); ++tried) {
    if (tried == kSets) {
      not_all_tried_ = true;
      break;
    }
    const Preemptor preemptor{.demand = pod.plan.demand,
                              .policy = *pod.plan.policy,
                              .priority = model::kNoPriority,
                              .spared = spared,
                              .budgets = question_.budgets,
                              .searches = searches_,
                              .tries = steps_,
                              .order = VictimOrder::kEffort};
    const auto leaving = cheapest_victims(preemptor, state, gone_);
    if (!leaving || leaving->broken_budgets > 0 || leaving->pods.size() > moves_left()) break;
    Option option{.wanted = wanted, .node = node, .place = {}, .moves = {}, .changed = now_};
    const Allocation* stuck = settle(option, leaving->pods);
    if (stuck == nullptr) return option;
    spared.insert(stuck->pod_uid);
  }
  return std::nullopt;
}

const Allocation* Planner::settle(Option& option, const std::vector<AllocationPtr>& leaving) {
  const PlacelessPod& wanted = question_.wanted[option.wanted].next;
  option.changed.leave(option.node, VictimSet{.pods = leaving}.uids());
  const auto choice = look_at(wanted, option.changed.after(option.node));
  if (!choice) return leaving.front().get();  // the search was skipped
  arrive(option, choice->placement);
  const NodeState& standing = *question_.cluster.at(option.node);
  std::vector<AllocationPtr> largest_first = leaving;
  std::ranges::stable_sort(largest_first, std::greater<>(),
                           [&](const AllocationPtr& pod) { return size_milli(*pod, standing); });
  for (const AllocationPtr& pod : largest_first) {
    const PlacelessPod* next = movers_.next_of(*pod);
    if (next == nullptr || is_stuck(*pod)) return pod.get();
    const auto place = rankings_.best(*next, option.changed);
    if (!place) return pod.get();
    Allocation moved =
        place_of(*next, option.changed.crowded(place->node), place->cards, "next/" + pod->pod_uid);
    option.changed.come(place->node, moved);
    option.cost += size_milli(*pod, standing);
    option.moves.push_back({.pod = pod, .next = std::move(moved)});
  }
  return nullptr;
}

}  // namespace

std::int64_t size_milli(const Allocation& pod, const NodeState& node) {
  std::int64_t milli = 0;
  for (const model::ContainerGrant& container : pod.containers) {
    for (const model::GrantedCard& granted : container.cards) {
      const auto card = node.card_index(granted.uuid);
      milli +=
          card ? policies::size_on(slice_of(granted, node.traits()[*card]), node.traits()[*card])
               : granted.compute.count();
    }
  }
  return milli;
}

MovePlan plan_moves(const MoveQuestion& question) { return Planner(question).run(); }

}  // namespace tangram::cluster
