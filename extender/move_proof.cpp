#include "extender/move_proof.hpp"

#include "cluster/victims.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/placement.hpp"

#include <algorithm>
#include <limits>

namespace tangram::extender {

std::vector<std::string> uids_of(const std::vector<cluster::Move>& moves) {
  std::vector<std::string> uids;
  uids.reserve(moves.size());
  for (const cluster::Move& move : moves) uids.push_back(move.pod->pod_uid);
  return uids;
}

MoveObstacle MoveProof::waiting_obstacle(const ChosenMoves& chosen) const {
  const kube::Pod& planned = *chosen.wanted.next.pod;
  const cluster::PodPtr pod = parts_.pods.find(planned.uid);
  if (pod == nullptr || pod->deleting) {
    return {.why = "the waiting pod does not wait any more", .of_waiting = true};
  }
  // A promise ends some time after the last pod has left, if the waiting pod does not take the
  // room.
  if (parts_.promises.maker(planned.uid) != RoomMaker::kDefragmenter) {
    return {.why = "the room was not taken in time, or others make room for the waiting pod"};
  }
  const auto plan = parts_.policies.plan(*pod);
  const bool same = !pod->gated && plan && plan->demand == chosen.wanted.next.plan.demand;
  return same ? MoveObstacle() : MoveObstacle{.why = "the waiting pod requests something else"};
}

MoveObstacle MoveProof::obstacle(const ChosenMoves& chosen, std::size_t from) const {
  if (MoveObstacle obstacle = waiting_obstacle(chosen); obstacle) return obstacle;
  if (is_offered(chosen)) return {.why = "another node takes the waiting pod", .of_waiting = true};
  if (holds(chosen, from)) return {};
  return {.why = "the cluster is not as it was planned any more"};
}

bool MoveProof::has_node(const ChosenMoves& chosen) const {
  return parts_.ledger.apply([&](const model::Ledger& ledger) {
    const auto* entry = ledger.find(chosen.wanted.next.pod->uid);
    return entry != nullptr && entry->phase != model::Phase::kReserved &&
           entry->allocation->node == chosen.node;
  });
}

/// Is it being placed on a node, whichever?
bool MoveProof::is_offered(const ChosenMoves& chosen) const {
  return parts_.ledger.apply([&](model::Ledger& ledger) {
    ledger.expire_reservations();
    return ledger.find(chosen.wanted.next.pod->uid) != nullptr;
  });
}

/// Do the pods that are still to move stand as they did, and does the waiting pod fit once they are
/// gone? That their next pods have places is reserved.
bool MoveProof::holds(const ChosenMoves& chosen, std::size_t from) const {
  const cluster::ClusterPtr cluster = parts_.ledger.snapshot();
  const kube::Pod& waiting = *chosen.wanted.next.pod;
  const Nominations nominations{parts_.pods, parts_.promises};
  const auto nominated = nominated_above(nominations, waiting.uid, std::numeric_limits<int>::min());
  PodView view(*cluster);
  fit_to_pod(view, waiting, "", nominations, parts_.policies);
  const model::NodeState* node = view.find(chosen.node);
  if (node == nullptr || !node->inventory->draining.empty()) return false;
  for (std::size_t i = from; i < chosen.moves.size(); ++i) {
    const model::Allocation& planned = *chosen.moves[i].pod;
    const auto standing = std::ranges::find_if(
        node->allocations, [&](const auto& each) { return each->pod_uid == planned.pod_uid; });
    // One that ended by itself has left its room, too.
    if (standing != node->allocations.end() && **standing != planned) return false;
    const MovePlace& place = chosen.places[i];
    const model::NodeState* to = cluster->find(place.room.node);
    const bool others_wait = place.room.node != chosen.node && nominated.contains(place.room.node);
    if (to == nullptr || others_wait || !to->inventory->draining.empty()) return false;
    const model::NodeState without = model::without_pods(*to, {place.room.pod_uid});
    if (!cluster::fits_in_tree(place.demand, without)) return false;
  }
  const cluster::PodPlan& plan = chosen.wanted.next.plan;
  const model::NodeState left = without_leaving(*node, uids_of(chosen.moves));
  return cluster::fits_in_tree(plan.demand, left) &&
         plan.policy->choose(plan.demand, left).has_value();
}

}  // namespace tangram::extender
