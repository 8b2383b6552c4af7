#include "model/resizing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace tangram::model {

namespace {

/// Drivers' updates have changed a card's memory by up to half a per cent.
constexpr std::int64_t kDriftPercent = 2;

/// @param written  in the request, if it is; a limit above the card means the card's size
/// @param of_card  the card's own amount
template <class Unit>
bool differs(std::optional<Unit> written, Unit asked, Unit granted, Unit of_card) {
  if (written == asked) return granted != asked;
  const std::int64_t apart = std::abs(asked.count() - granted.count());
  return apart * 100 > of_card.count() * kDriftPercent;
}

bool is_whole(const GrantedCard& part, const Card* card) {
  if (card != nullptr) return takes_whole(part, *card);
  return part.whole.value_or(part.compute == kWholeGpu);
}

std::optional<Mebibytes> written_memory(const Share& share) {
  return share.form == ShareForm::kMemory ? std::optional(share.memory) : std::nullopt;
}
std::optional<MilliGpu> written_compute(const Share& share) {
  return share.form == ShareForm::kFraction ? std::optional(share.fraction) : share.compute;
}

/// A replica is what the card was cut into when the pod was bound, and stays that.
bool can_resize(const Share& share, const GrantedCard& part, const Card* card) {
  return share.form != ShareForm::kReplica && !is_whole(part, card);
}

bool asks_other(const Share& share, const GrantedCard& part, const Card* card) {
  if (!can_resize(share, part, card)) return false;
  if (card == nullptr) {
    const MilliGpu compute = written_compute(share).value_or(part.compute);
    // It may have been rounded down to chunks of the card.
    const bool other_compute = share.by_mps ? compute < part.compute : compute != part.compute;
    return written_memory(share).value_or(part.memory) != part.memory || other_compute;
  }
  const Slice asked = slice_of(share, *card);
  return differs(written_memory(share), asked.memory, part.memory, card->memory) ||
         differs(written_compute(share), asked.compute, part.compute, card->compute) ||
         differs(share.memory_limit, asked.memory_limit, part.memory_limit, card->memory) ||
         differs(share.compute_limit, asked.compute_limit, part.compute_limit, card->compute);
}

const Card* card_of(const NodeState* node, const GrantedCard& part) {
  if (node == nullptr) return nullptr;
  const auto index = node->card_index(part.uuid);
  return index ? &node->cards()[*index] : nullptr;
}

/// Calls visit(container's request, part) for every card of every container.
template <class Containers, class Visit>
void for_each_part(const GpuRequest& request, Containers& granted, Visit&& visit) {
  for (std::size_t i = 0; i < granted.size(); ++i) {
    for (auto& part : granted[i].cards) visit(request.containers[i], part);
  }
}

}  // namespace

bool same_shape(const GpuRequest& request, const std::vector<ContainerGrant>& granted) {
  return std::ranges::equal(request.containers, granted,
                            [](const ContainerRequest& asked, const ContainerGrant& has) {
                              return asked.container == has.container &&
                                     static_cast<std::size_t>(asked.count) == has.cards.size() &&
                                     std::ranges::all_of(has.cards, [&](const GrantedCard& part) {
                                       return asked.share.form == ShareForm::kReplica ||
                                              asked.share.whole() == is_whole(part, nullptr);
                                     });
                            });
}

bool asks_other_amounts(const GpuRequest& request, const std::vector<ContainerGrant>& granted,
                        int max_burst, const NodeState* node) {
  bool other = false;
  for_each_part(request, granted, [&](const ContainerRequest& asked, const GrantedCard& part) {
    other = other || asks_other(asked.share, part, card_of(node, part));
  });
  if (!other || max_burst == max_burst_of(request)) return other;
  return asks_other_amounts(with_max_burst(request, max_burst), granted, max_burst, node);
}

std::vector<ContainerGrant> resized(const GpuRequest& request, const Allocation& allocation,
                                    const NodeState& node) {
  std::vector<ContainerGrant> next = repeated(allocation, node);
  for_each_part(request, next, [&](const ContainerRequest& asked, GrantedCard& part) {
    const Card* const card = card_of(&node, part);
    if (card == nullptr || !can_resize(asked.share, part, card)) return;
    const Slice slice = slice_of(asked.share, *card);
    part.set_amounts({slice.memory, slice.compute, slice.memory_limit, slice.compute_limit});
  });
  return next;
}

std::vector<ContainerGrant> repeated(const Allocation& allocation, const NodeState& node) {
  const ResizeAnswer* const answer = answer_of(*node.inventory, allocation.pod_uid);
  const bool settled = is_settled(*node.inventory, allocation);
  std::vector<ContainerGrant> next = allocation.containers;
  for (ContainerGrant& container : next) {
    for (GrantedCard& part : container.cards) {
      part.former = most_of(part, container.container, answer, settled);
    }
  }
  return next;
}

std::optional<std::string> card_without_room(const NodeState& node, const Allocation& next) {
  const NodeState after = with_pod(without_pods(node, {next.pod_uid}), next);
  for (const ContainerGrant& container : next.containers) {
    for (const GrantedCard& part : container.cards) {
      const auto index = node.card_index(part.uuid);
      if (!index) return part.uuid;
      const CardUse& was = node.use[*index];
      const CardUse& is = after.use[*index];
      const bool grows = is.memory > was.memory || is.compute > was.compute;
      if (grows && over_granted(node.cards()[*index], is)) return part.uuid;
    }
  }
  return std::nullopt;
}

std::vector<ContainerGrant> taken_back(std::vector<ContainerGrant> granted) {
  for (ContainerGrant& container : granted) {
    for (GrantedCard& part : container.cards) {
      const CardAmounts now = part.amounts();
      if (part.former) part.set_amounts(*part.former);
      part.former = now;
    }
  }
  return granted;
}

}  // namespace tangram::model
