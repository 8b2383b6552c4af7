#include "node/container/grant_check.hpp"

#include "base/quote.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tangram::node {
namespace {

using model::Card;
using model::ContainerGrant;
using model::GrantedCard;

constexpr std::string_view kMakeAnew = "; delete the pod and create it again";

Error never(std::string why) { return fail(Errc::kInvalidArgument, std::move(why)); }

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
  if (pod.grant_text.empty()) {
    return never(
        "the pod has a slot but no grant: it was not bound by Tangram's scheduler; remove "
        "spec.nodeName, set schedulerName to the scheduler that has the extender, and create it "
        "again");
  }
  if (!pod.grant)
    return never("the annotation " + std::string(model::kGrantAnnotation) + " " +
                 pod.grant_problem + std::string(kMakeAnew));
  for (const ContainerGrant& container : pod.grant->containers) {
    if (container.container == request.container && !container.cards.empty()) return container;
  }
  const auto& infos = pod.pod.containers;
  const bool init = std::any_of(infos.begin(), infos.end(), [&](const model::ContainerInfo& info) {
    return info.name == request.container && info.ordinary_init;
  });
  if (init) {
    return never(
        "container " + quote(request.container) +
        " is an init container, which cannot hold a card; remove tangram.dev/gpu-slot from "
        "it");
  }
  return never("the grant names no cards for container " + quote(request.container) +
               "; remove tangram.dev/gpu-slot from it, or ask for a share with "
               "tangram.dev/gpu-fraction." +
               std::string(request.container));
}

Result<void> check_card(const StartRequest& request, const GrantedCard& granted, const Card* card) {
  if (card == nullptr) {
    return never("card " + granted.uuid + " is not on this node any more" + std::string(kMakeAnew));
  }
  if (!card->healthy && !request.ran) {
    return never("card " + granted.uuid + " is sick: " + card->unavailable_reason +
                 std::string(kMakeAnew));
  }
  if (request.admitted) return {};
  if (granted.memory > card->memory || granted.compute > card->compute) {
    return never("card " + granted.uuid + " has become smaller than the grant" +
                 std::string(kMakeAnew));
  }
  const model::Isolation mode = request.pod.grant->isolation;
  if (!is_whole(granted, *card) && !card->isolation.has(mode)) {
    return never("card " + granted.uuid + " cannot be shared in mode " +
                 std::string(to_string(mode)) + std::string(kMakeAnew));
  }
  return {};
}

bool comes_before(const CardClaim& other, const LocalPod& pod) {
  if (other.admitted || other.pod_uid == pod.pod.uid) return true;
  return std::tie(other.issued_at, other.pod_uid) < std::tie(pod.grant->issued_at, pod.pod.uid);
}

Result<void> check_room(const StartRequest& request, const GrantedCard& granted, const Card& card,
                        std::span<const CardClaim> others) {
  Mebibytes memory = granted.memory;
  MilliGpu compute = granted.compute;
  int sharers = 1;
  bool other_mode = false;
  bool may_pass = request.watch_lags;
  for (const CardClaim& other : others) {
    const GrantedCard* part = part_of(other.container, card.id);
    if (part == nullptr || !comes_before(other, request.pod)) continue;
    memory += part->memory;
    compute += part->compute;
    ++sharers;
    other_mode = other_mode || other.isolation != request.pod.grant->isolation;
    may_pass = may_pass || other.leaving;
  }
  const bool full = memory > card.memory || compute > card.compute || sharers > card.max_sharers;
  if (!full && !other_mode) return {};
  if (may_pass) {
    return fail(Errc::kUnavailable, "card " + card.id +
                                        " is still used by a pod that is gone; it starts when the "
                                        "processes of that one have ended");
  }
  if (full) {
    return never("card " + card.id +
                 " is granted to others before this pod, and has no room for it" +
                 std::string(kMakeAnew));
  }
  return never("card " + card.id + " is shared in another mode than " +
               std::string(to_string(request.pod.grant->isolation)) + std::string(kMakeAnew));
}

Result<void> check_leftovers(const GrantedCard& granted, const Card& card,
                             std::span<const CardClaim> others,
                             std::span<const Leftover> leftovers) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  Mebibytes taken = granted.memory;
  for (const CardClaim& other : others) {
    if (const GrantedCard* part = part_of(other.container, card.id)) taken += part->memory;
  }
  std::string uids;
  for (const Leftover& leftover : leftovers) {
    if (leftover.card != card.id) continue;
    taken += Mebibytes(static_cast<std::int64_t>((leftover.memory_bytes + kMiB - 1) / kMiB));
    uids += (uids.empty() ? "" : ", ") + leftover.pod_uid;
  }
  if (uids.empty() || taken <= card.memory) return {};
  return fail(Errc::kUnavailable,
              "card " + card.id + " still holds memory of a pod that was deleted by force (UID " +
                  uids + "); it starts when those processes have ended");
}

}  // namespace

bool is_whole(const GrantedCard& granted, const Card& card) {
  return granted.memory >= card.memory && granted.compute >= card.compute;
}

Result<ContainerGrant> check_grant(const StartRequest& request, std::span<const Card> cards,
                                   std::span<const CardClaim> others,
                                   std::span<const Leftover> leftovers) {
  auto container = own_grant(request);
  if (!container) return container.error();
  if (request.environment_decides && request.pod.choose_devices.contains(request.container)) {
    return never(
        "container " + quote(request.container) +
        " sets NVIDIA_VISIBLE_DEVICES itself, or takes its environment from a ConfigMap or "
        "Secret that may; on this node that would replace its card: remove it");
  }
  for (const GrantedCard& granted : container->cards) {
    const Card* card = card_of(cards, granted.uuid);
    if (auto fits = check_card(request, granted, card); !fits) return fits.error();
    if (request.admitted) continue;
    if (auto fits = check_room(request, granted, *card, others); !fits) return fits.error();
    if (auto fits = check_leftovers(granted, *card, others, leftovers); !fits) return fits.error();
  }
  return container;
}

}  // namespace tangram::node
