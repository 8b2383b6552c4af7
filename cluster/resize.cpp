#include "cluster/resize.hpp"

#include "cluster/allocations.hpp"
#include "model/resizing.hpp"

#include <algorithm>
#include <utility>

namespace tangram::cluster {

namespace {

using model::Allocation;
using model::GrantedCard;
using model::NodeState;

constexpr std::string_view kAgentsTurn = "the node's agent has not applied it yet";
constexpr std::string_view kNoRoom = "its card has no room for it now";
constexpr std::string_view kNoRoomForBoth =
    "its card has no room for the former and the new amounts together, which both count until the "
    "new ones are applied; first request less of what shrinks, and then more of what grows";
constexpr std::string_view kCardAway = "its node does not list its card now";
constexpr std::string_view kNoRoomThere =
    "its node has no room for it on the card beside the containers that it has started";
constexpr std::string_view kInUse =
    "its containers use more memory of the card than that; free memory in them, or request more";
constexpr std::string_view kTooLarge =
    "its card is smaller than that; delete the pod, and create it with the new request";
constexpr std::string_view kOtherShape =
    "only the amounts of shares can change, not the containers, the number of cards, or a whole "
    "card; delete the pod, and create it with the new request";
constexpr std::string_view kNoRequest =
    "its annotations are no valid request any more, so it keeps what it has; correct them, or "
    "write what they said before";
constexpr std::string_view kByMps =
    "MPS limits a process when it starts; delete the pod, and create it with the new request";
constexpr std::string_view kCannotChange =
    "its node cannot change the limits of a running container; delete the pod, and create it with "
    "the new request";
constexpr std::string_view kUnknownRefusal =
    "its node's agent refuses it for a reason that only a newer version knows; the pod's event "
    "ResizeRefused says it";
constexpr std::string_view kOtherGrant =
    "its node's agent does not take its grant for a revision of the one that its containers were "
    "started by: somebody has changed it, or its key is not known there; delete the pod, and "
    "create it with the new request";

template <class Predicate>
bool any_part(const Allocation& allocation, Predicate&& predicate) {
  return std::ranges::any_of(allocation.containers, [&](const model::ContainerGrant& container) {
    return std::ranges::any_of(container.cards, predicate);
  });
}

/// Does it take more of something, and less of something?
bool shifts(const Allocation& next) {
  const auto takes_more = [](const model::CardAmounts& a, const model::CardAmounts& b) {
    return a.memory > b.memory || a.compute > b.compute;
  };
  return any_part(
             next,
             [&](const GrantedCard& part) { return takes_more(part.amounts(), *part.former); }) &&
         any_part(next, [&](const GrantedCard& part) {
           return takes_more(*part.former, part.amounts());
         });
}

/// By MPS, whose limits are those of a process's start. Beside another means it limits memory, too.
bool changes_what_mps_limits(const Allocation& next) {
  const bool by_mps = next.isolation == model::Isolation::kMps;
  return any_part(next, [&](const GrantedCard& part) {
    const bool memory = part.memory_limit != part.former->memory_limit;
    const bool more_memory = part.memory_limit > part.former->memory_limit;
    const bool compute = part.compute_limit != part.former->compute_limit;
    const bool by_none = part.memory_limits == model::MemoryLimits::kNone;
    return (memory && part.memory_limits == model::MemoryLimits::kMps) ||
           (by_mps && ((more_memory && !by_none) || compute));
  });
}

const model::Card* card_of(const NodeState& node, const GrantedCard& part) {
  const auto index = node.card_index(part.uuid);
  return index ? &node.cards()[*index] : nullptr;
}

/// Of a revision that is not applied yet.
Resize unsettled(const Allocation& allocation, const NodeState& node) {
  const auto* answer = answer_of(*node.inventory, allocation.pod_uid);
  if (answer == nullptr || answer->refused != allocation.revision) {
    return {ResizeState::kInProgress, kAgentsTurn};
  }
  switch (*answer->why) {
    case model::ResizeRefusal::kInUse:
      return {ResizeState::kInfeasible, kInUse};
    case model::ResizeRefusal::kNoRoom:
      return {ResizeState::kDeferred, kNoRoomThere};
    case model::ResizeRefusal::kCannotChange:
      return {ResizeState::kInfeasible, kCannotChange};
    case model::ResizeRefusal::kOtherGrant:
      return {ResizeState::kInfeasible, kOtherGrant};
    case model::ResizeRefusal::kUnknown:
      return {ResizeState::kInfeasible, kUnknownRefusal};
  }
  return {ResizeState::kInProgress, kAgentsTurn};
}

/// Of amounts that no revision has yet.
Resize wanted(const Allocation& allocation, const model::GpuRequest& request,
              const NodeState& node) {
  const auto is_away = [&](const GrantedCard& part) { return card_of(node, part) == nullptr; };
  if (any_part(allocation, is_away)) return {ResizeState::kDeferred, kCardAway};
  const Allocation next = next_revision(allocation, request, node);
  if (any_part(next, [&](const GrantedCard& part) {
        const model::Card& card = *card_of(node, part);
        return part.memory > card.memory || part.compute > card.compute;
      })) {
    return {ResizeState::kInfeasible, kTooLarge};
  }
  if (changes_what_mps_limits(next)) return {ResizeState::kInfeasible, kByMps};
  if (model::card_without_room(node, next)) {
    return {ResizeState::kDeferred, shifts(next) ? kNoRoomForBoth : kNoRoom};
  }
  return {ResizeState::kProposed, kAgentsTurn};
}

/// A grant from before grants said who has a card alone cannot be revised: model::revises().
bool has_shape_of(const model::GpuRequest& request, const Allocation& allocation) {
  return same_shape(request, allocation.containers) &&
         !any_part(allocation, [](const GrantedCard& part) { return !part.whole; });
}

/// The pod's grant was replaced: by an earlier revision than its agent has applied, or by another
/// of the same number.
bool is_outdated(const Allocation& allocation, const model::ResizeAnswer* answer) {
  if (answer == nullptr || answer->applied < allocation.revision) return false;
  return answer->applied > allocation.revision ||
         std::ranges::any_of(allocation.containers, [&](const model::ContainerGrant& container) {
           return std::ranges::any_of(container.cards, [&](const GrantedCard& part) {
             const auto* held = held_of(answer, container.container, part.uuid);
             return held != nullptr && *held != part.amounts();
           });
         });
}

/// How far the request is beyond what was granted; nothing = it asks for nothing else.
std::optional<Resize> asked_of(const Allocation& allocation, const model::GpuRequest& request,
                               const NodeState& node) {
  if (!has_shape_of(request, allocation)) return Resize{ResizeState::kInfeasible, kOtherShape};
  if (is_outdated(allocation, answer_of(*node.inventory, allocation.pod_uid)) ||
      asks_other_amounts(request, allocation.containers, allocation.max_burst, &node)) {
    return wanted(allocation, request, node);
  }
  return std::nullopt;
}

/// Of the pod's next revision. The agent may have refused another one of that number.
int next_number(const Allocation& allocation, const NodeState& node) {
  const auto* answer = answer_of(*node.inventory, allocation.pod_uid);
  if (answer == nullptr) return allocation.revision + 1;
  const int next = 1 + std::max(allocation.revision, answer->applied);
  return answer->refused == next ? next + 1 : next;
}

}  // namespace

ResizablePodPtr resizable(const kube::Pod& pod, const Result<PodPlan>& plan,
                          const Recorded& recorded, const NodeState* node) {
  const Allocation& shown = recorded.allocation;
  if (pod.deleting) return nullptr;
  const bool is_granted = !shown.containers.empty() && !shown.by_start;
  const Allocation* const held = node == nullptr ? nullptr : node->find_allocation(pod.uid);
  // Somebody may have removed the grant, or changed it to one that is not valid. What it said
  // counts.
  const bool is_known = held != nullptr && !held->containers.empty() && !held->by_start;
  if (!is_granted && !is_known) return nullptr;
  const bool counts = is_granted && (!is_known || same_revision(*held, shown));
  if (counts && plan && node != nullptr && has_all_it_requests(shown, plan->demand.gpu, *node)) {
    return nullptr;
  }
  return std::make_shared<ResizablePod>(
      ResizablePod{.pod = {pod.uid, pod.ns, pod.name},
                   .node = pod.node,
                   .request = plan ? std::optional(plan->demand.gpu) : std::nullopt,
                   .revision = is_granted ? shown.revision : -1,
                   .is_damaged = !counts});
}

bool has_all_it_requests(const Allocation& allocation, const model::GpuRequest& request,
                         const NodeState& node) {
  const auto is_away = [&](const GrantedCard& part) { return card_of(node, part) == nullptr; };
  return allocation.revision == 0 && answer_of(*node.inventory, allocation.pod_uid) == nullptr &&
         !any_part(allocation, is_away) && same_shape(request, allocation.containers) &&
         !asks_other_amounts(request, allocation.containers, allocation.max_burst, &node);
}

std::string_view to_string(ResizeState state) {
  switch (state) {
    case ResizeState::kProposed:
      return "Proposed";
    case ResizeState::kInProgress:
      return "InProgress";
    case ResizeState::kDeferred:
      return "Deferred";
    case ResizeState::kInfeasible:
      return "Infeasible";
  }
  return "Unknown";
}

std::optional<Resize> resize_of(const Allocation& allocation, const ResizablePod* pod,
                                const NodeState& node) {
  if (allocation.containers.empty()) return std::nullopt;
  const model::GpuRequest* const request =
      pod != nullptr && pod->request ? &*pod->request : nullptr;
  if (request != nullptr && model::asks_what_was_refused(*request, allocation, node)) {
    return Resize{ResizeState::kInfeasible, kCannotChange};
  }
  const bool settled = is_settled(*node.inventory, allocation);
  const Resize pending = settled ? Resize{} : unsettled(allocation, node);
  // A revision that the agent may still apply is waited for.
  if (!settled && pending.state == ResizeState::kInProgress) return pending;
  if (pod != nullptr && request == nullptr) return Resize{ResizeState::kInfeasible, kNoRequest};
  if (request != nullptr) {
    if (auto asked = asked_of(allocation, *request, node)) return asked;
  }
  return settled ? std::nullopt : std::optional(pending);
}

Allocation next_revision(const Allocation& allocation, const model::GpuRequest& request,
                         const NodeState& node) {
  Allocation next = allocation;
  next.containers = resized(request, allocation, node);
  next.revision = next_number(allocation, node);
  next.former_refused = false;
  next.max_burst = max_burst_of(request);
  return next;
}

bool must_be_taken_back(const Allocation& allocation, const NodeState& node) {
  const auto* answer = answer_of(*node.inventory, allocation.pod_uid);
  if (answer == nullptr || answer->refused != allocation.revision) return false;
  return answer->why == model::ResizeRefusal::kNoRoom ||
         (answer->why == model::ResizeRefusal::kCannotChange && !allocation.former_refused);
}

Allocation taken_back(const Allocation& allocation, const NodeState& node) {
  Allocation next = allocation;
  next.containers = model::taken_back(std::move(next.containers));
  next.revision = next_number(allocation, node);
  const auto* answer = answer_of(*node.inventory, allocation.pod_uid);
  next.former_refused = answer != nullptr && answer->why == model::ResizeRefusal::kCannotChange;
  // The former amounts are the most of several revisions, which no container may have had.
  for (model::ContainerGrant& container : next.containers) {
    for (GrantedCard& part : container.cards) {
      const auto* const held = held_of(answer, container.container, part.uuid);
      if (held != nullptr) part.set_amounts(*held);
    }
  }
  return next;
}

bool may_be_replaced(const Allocation& allocation, int shown, const NodeState& node) {
  if (is_settled(*node.inventory, allocation)) return false;
  const auto* answer = answer_of(*node.inventory, allocation.pod_uid);
  return shown != allocation.revision ||
         (answer != nullptr && answer->why == model::ResizeRefusal::kOtherGrant);
}

Allocation repeated(const Allocation& allocation, const NodeState& node) {
  Allocation next = allocation;
  next.containers = model::repeated(allocation, node);
  next.revision = next_number(allocation, node);
  return next;
}

}  // namespace tangram::cluster
