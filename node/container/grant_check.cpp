#include "node/container/grant_check.hpp"

#include "base/quote.hpp"
#include "model/node_state.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::node {
namespace {

using model::Card;
using model::ContainerGrant;
using model::GrantedCard;

Error cannot_start(std::string why) { return fail(Errc::kInvalidArgument, std::move(why)); }

Error must_be_created_again(const std::string& why) {
  return cannot_start(why + "; delete the pod and create it again");
}

const Card* card_of(std::span<const Card> cards, std::string_view id) {
  const auto found =
      std::find_if(cards.begin(), cards.end(), [&](const Card& card) { return card.id == id; });
  return found == cards.end() ? nullptr : &*found;
}

const GrantedCard* part_of(const ContainerGrant& container, std::string_view card) {
  const auto found = std::find_if(container.cards.begin(), container.cards.end(),
                                  [&](const GrantedCard& part) { return part.uuid == card; });
  return found == container.cards.end() ? nullptr : &*found;
}

Result<ContainerGrant> own_grant(const StartRequest& request) {
  const LocalPod& pod = request.pod;
  if (!pod.grant && pod.grant_problem.empty()) {
    return cannot_start(
        "the pod has a slot but no grant: it was not bound by Tangram's scheduler; remove "
        "spec.nodeName, set schedulerName to the scheduler that has the extender, and create it "
        "again");
  }
  if (!pod.grant)
    return must_be_created_again("the annotation " + std::string(model::kGrantAnnotation) + " " +
                                 pod.grant_problem);
  for (const ContainerGrant& container : pod.grant->containers) {
    if (container.container == request.container && !container.cards.empty()) return container;
  }
  if (is_ordinary_init(pod.pod, request.container)) {
    return cannot_start(
        "container " + quote(request.container) +
        " is an init container, which cannot have a card; remove tangram.dev/gpu-slot from "
        "it");
  }
  return cannot_start("the grant names no cards for container " + quote(request.container) +
                      "; remove tangram.dev/gpu-slot from it, or request a share with "
                      "tangram.dev/gpu-fraction." +
                      std::string(request.container));
}

Result<void> check_memory_limits(const StartRequest& request, const GrantedCard& granted,
                                 const Card& card) {
  const auto now = in_mode(card.memory_limits, request.pod.grant->isolation);
  if (now >= granted.memory_limits) return {};
  const std::string promised(to_string(granted.memory_limits));
  return cannot_start("the grant promises memory limits by " + promised + ", and card " + card.id +
                      (now == model::MemoryLimits::kNone
                           ? " has none any more"
                           : " has only " + std::string(to_string(now))) +
                      "; set up " + promised +
                      " on the node again (docs/node.md, \"Memory limits\"), or delete the pod and "
                      "create it again");
}

Result<void> check_card(const StartRequest& request, const GrantedCard& granted, const Card* card) {
  if (card == nullptr) {
    return must_be_created_again("card " + granted.uuid + " is not on this node any more");
  }
  if (!card->healthy) {
    std::string why = "card " + granted.uuid + " is unhealthy: " + card->unavailable_reason;
    if (!request.ran) return must_be_created_again(why);
    return fail(Errc::kUnavailable,
                std::move(why) + "; the container starts again once the card is healthy");
  }
  if (auto limited = check_memory_limits(request, granted, *card); !limited) return limited;
  if (request.admitted) return {};
  if (granted.memory > card->memory || granted.compute > card->compute) {
    return must_be_created_again("card " + granted.uuid + " has become smaller than the grant");
  }
  const model::Isolation mode = request.pod.grant->isolation;
  if (!takes_whole(granted, *card) && !card->isolation.has(mode)) {
    return must_be_created_again("card " + granted.uuid + " cannot be shared in mode " +
                                 std::string(to_string(mode)));
  }
  return {};
}

bool comes_before(const CardClaim& other, const LocalPod& pod) {
  if (other.admitted || other.pod_uid == pod.pod.uid) return true;
  return std::tie(other.issued_at, other.pod_uid) < std::tie(pod.grant->issued_at, pod.pod.uid);
}

enum class Room { kFree, kFull, kOtherMode };

/// Is there room for a container's part beside those of others?
Room room_for(const GrantedCard& granted, model::Isolation mode, const Card& card,
              const std::vector<const CardClaim*>& beside) {
  model::CardUse use;
  charge(use, slice_of(granted, card), mode);
  for (const CardClaim* const other : beside) {
    charge(use, slice_of(*part_of(other->container, card.id), card), other->isolation);
  }
  if (over_granted(card, use) || use.sharer_count() > card.max_sharers) return Room::kFull;
  return use.mode_free_for(mode) ? Room::kFree : Room::kOtherMode;
}

bool any_ending(const std::vector<const CardClaim*>& claims) {
  return std::ranges::any_of(claims, [](const CardClaim* claim) { return claim->ending; });
}

bool any_awaited(const std::vector<const CardClaim*>& claims) {
  return std::ranges::any_of(claims, [](const CardClaim* claim) { return claim->awaited; });
}

Error used_by_ending(const Card& card) {
  return fail(Errc::kUnavailable,
              "card " + card.id +
                  " is still used by a pod that is gone; the container starts when "
                  "that pod's processes have ended");
}

Result<void> check_room(const StartRequest& request, const GrantedCard& granted, const Card& card,
                        std::span<const CardClaim> others) {
  std::vector<const CardClaim*> beside;
  for (const CardClaim& other : others) {
    if (part_of(other.container, card.id) == nullptr || !comes_before(other, request.pod)) continue;
    beside.push_back(&other);
  }
  const model::Isolation mode = request.pod.grant->isolation;
  const Room room = room_for(granted, mode, card, beside);
  if (room == Room::kFree) return {};
  if (request.watch_lags || any_ending(beside)) return used_by_ending(card);
  if (any_awaited(beside)) {
    return fail(Errc::kUnavailable, "card " + card.id +
                                        " has no room beside a pod that the watch has not shown "
                                        "yet and that may have ended");
  }
  if (room == Room::kFull) {
    return must_be_created_again("card " + card.id +
                                 " has no room for this pod beside earlier grants");
  }
  return must_be_created_again("card " + card.id + " is shared in another isolation mode than " +
                               std::string(to_string(mode)));
}

Result<void> check_orphaned_memory(const GrantedCard& granted, const Card& card,
                                   std::span<const CardClaim> others,
                                   std::span<const OrphanedMemory> orphaned) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  Mebibytes taken = granted.memory;
  for (const CardClaim& other : others) {
    if (const GrantedCard* part = part_of(other.container, card.id)) taken += part->memory;
  }
  std::string uids;
  for (const OrphanedMemory& memory : orphaned) {
    if (memory.card != card.id) continue;
    taken += Mebibytes(static_cast<std::int64_t>((memory.bytes + kMiB - 1) / kMiB));
    uids += (uids.empty() ? "" : ", ") + memory.pod_uid;
  }
  if (uids.empty() || taken <= card.memory) return {};
  return fail(Errc::kUnavailable,
              "card " + card.id + " still holds memory of a pod that was deleted by force (UID " +
                  uids + "); the container starts when those processes have ended");
}

/// The last value of the variable wins, and kubelet puts the pod's own after the device plugin's.
Result<void> check_variable(const StartRequest& request) {
  if (request.name_variable.empty() || !request.pod.choose_devices.contains(request.container)) {
    return {};
  }
  const std::string variable(request.name_variable);
  if (request.pod.hide_devices.contains(request.container)) {
    return cannot_start(
        "this node passes the card in " + variable +
        ", which Tangram's webhook sets so that no container sees a card before its own; enable "
        "CDI in the container runtime (deploy/node/README.md, \"Prerequisites\"), or keep the pod "
        "off this node");
  }
  return cannot_start("container " + quote(request.container) + " sets " + variable +
                      " itself, or takes its environment from a ConfigMap or Secret that may; on "
                      "this node that would replace its card: remove it");
}

}  // namespace

bool is_ordinary_init(const NodePod& pod, std::string_view container) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [&](const model::ContainerInfo& info) {
                       return info.name == container && info.ordinary_init;
                     });
}

Result<ContainerGrant> check_grant(const StartRequest& request, std::span<const Card> cards,
                                   std::span<const CardClaim> others,
                                   std::span<const OrphanedMemory> orphaned) {
  auto container = own_grant(request);
  if (!container) return container.error();
  if (auto passed = check_variable(request); !passed) return passed.error();
  for (const GrantedCard& granted : container->cards) {
    const Card* card = card_of(cards, granted.uuid);
    if (auto fits = check_card(request, granted, card); !fits) return fits.error();
    if (request.admitted) continue;
    if (auto fits = check_room(request, granted, *card, others); !fits) return fits.error();
    if (auto fits = check_orphaned_memory(granted, *card, others, orphaned); !fits)
      return fits.error();
  }
  return container;
}

Result<void> check_growth(const CardClaim& wanted, std::span<const Card> cards,
                          std::span<const CardClaim> others,
                          std::span<const OrphanedMemory> orphaned) {
  for (const GrantedCard& granted : wanted.container.cards) {
    const Card* const card = card_of(cards, granted.uuid);
    if (card == nullptr) {
      return cannot_start("card " + granted.uuid + " is not on this node any more");
    }
    std::vector<const CardClaim*> beside;
    for (const CardClaim& other : others) {
      if (part_of(other.container, card->id) != nullptr) beside.push_back(&other);
    }
    if (room_for(granted, wanted.isolation, *card, beside) != Room::kFree) {
      return fail(any_ending(beside) ? Errc::kUnavailable : Errc::kInvalidArgument,
                  "card " + card->id + " has no room for the larger share beside other containers");
    }
    if (auto fits = check_orphaned_memory(granted, *card, others, orphaned); !fits) {
      return fail(Errc::kUnavailable,
                  "card " + card->id + " still holds memory of a pod that was deleted by force");
    }
  }
  return {};
}

}  // namespace tangram::node
