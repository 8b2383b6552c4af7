#pragma once

#include "base/required.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/places.hpp"
#include "model/node_state.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

/// Which few pods have to leave their cards so that waiting pods fit, and where each of them goes.
namespace tangram::cluster {

/// A pod that waits for room, or one of a kind that is expected.
struct WantedPod {
  PlacelessPod next;
  /// What a thousandth of a card for this pod is worth beside one for the others; 1 or more.
  std::int64_t weight = 1;
};

/// Bounds on a plan and on the work for it. The steps are counted, not timed: equal questions give
/// equal plans.
struct MoveLimits {
  std::size_t moves = 10;
  /// A step is a look at one node: at its pods, at what it takes to make room there, by a policy or
  /// by MoveQuestion::takes; or at one of the sets of pods that could leave it. Half of the steps
  /// at most find out which wanted pods fit already.
  std::int64_t steps = 500'000;
  /// For the searches of pods of several containers, as model::SearchBudget counts them.
  std::int64_t searches = 1'000'000;
};

struct MoveQuestion {
  /// Reservations count as taken, and so does what terminating pods hold. Wanted pods have none.
  const model::ClusterSnapshot& cluster;
  /// In the order in which they are to be placed.
  const std::vector<WantedPod>& wanted;
  const BudgetList& budgets;
  /// May the pod be moved? Only one of a controller, which makes another in its place, and whose
  /// bind has a known outcome. Not asked about reservations, terminating pods and pods without
  /// cards, which never move.
  Required<std::function<bool(const model::Allocation&)>> movable;
  /// The pod that its controller makes in the place of a movable one. Null = not known: it stays.
  Required<std::function<std::shared_ptr<const PlacelessPod>(const model::Allocation&)>> next_pod;
  /// Does the node take this pod, by all that the ledger does not know: cordons, taints, selectors,
  /// affinity? Asked about wanted pods and about next pods of movable ones, and about nodes as they
  /// are in `cluster`.
  Required<std::function<bool(const kube::Pod&, const model::NodeState&)>> takes;
  MoveLimits limits = {};
};

struct Move {
  model::AllocationPtr pod;  ///< as it stands
  model::Allocation next;    ///< what its controller's next pod gets: node and cards
};

/// A wanted pod's place.
struct Arrival {
  std::size_t wanted = 0;  ///< its index in the question
  model::Allocation place;
  std::size_t after = 0;        ///< it fits once so many of the plan's first moves are done
  std::int64_t gain_milli = 0;  ///< by whichever of compute and memory decides on each card
};

struct MovePlan {
  /// All next pods find their places while all pods still stand that move, whatever the order.
  /// Neither takes a next pod any room that an arrival needs.
  std::vector<Move> moves;
  std::vector<Arrival> arrivals;     ///< they fit only because of the moves
  std::vector<Arrival> fit_already;  ///< wanted pods that need no move; their room is kept for them
  std::int64_t gained_milli = 0;     ///< of the arrivals
  std::int64_t moved_milli = 0;      ///< the same of the pods that move: their size_milli()
  /// Not all was looked at that could help: the steps or searches did not suffice, or there were
  /// too many nodes, sets of pods or kinds of wanted pods. What is planned is right.
  bool cut_short = false;
};

/// What a pod holds of its node's cards, in thousandths of a card, by whichever of compute and
/// memory decides on each: measured like Arrival::gain_milli. Pure.
/// @param node  where it stands; of cards that the node does not list, compute counts
[[nodiscard]] std::int64_t size_milli(const model::Allocation& pod, const model::NodeState& node);

/// A plan that lets as many wanted pods run as it can, first those with the most gain per pod that
/// moves. The budgets hold for all moves together. Pure: equal questions give equal plans.
///
/// What is proved, on a copy of the cluster: each next pod fits beside all that stands there now,
/// all other next pods and all wanted pods with a place, on its cards and in CPU, memory and slots.
/// So a next pod never waits for another to leave. Each arrival fits beside all that is left once
/// its moves are done, and fits nowhere before. A plan without moves says that none helps, or that
/// none was found in time.
///
/// Cost: one look at every allocation, and two at every node for each shape of pod. At 5,000 nodes
/// with 100,000 pods a plan of ten moves takes less than a second.
[[nodiscard]] MovePlan plan_moves(const MoveQuestion& question);

}  // namespace tangram::cluster
