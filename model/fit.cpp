#include "model/fit.hpp"

#include <algorithm>
#include <array>

namespace tangram::model {

namespace {

struct MisfitFacts {
  Misfit misfit;
  std::string_view reason;
  bool resolvable;
};

constexpr std::array<MisfitFacts, kMisfits> kFacts{{
    {Misfit::kUnknownNode, "node has not reported its GPU cards", false},
    {Misfit::kNoCards, "node has fewer GPU cards than the pod asks for", false},
    {Misfit::kModel, "node has too few GPU cards of the requested model", false},
    {Misfit::kCardId, "node has too few of the GPU cards that the pod names", false},
    {Misfit::kReplicas, "node shares its GPU cards under another resource than the pod asks for",
     false},
    {Misfit::kUnavailable, "matching GPU cards are unhealthy or cordoned", false},
    {Misfit::kIsolationUnsupported, "GPU cards do not support the requested isolation", false},
    {Misfit::kMemoryLimits, "GPU cards do not enforce memory limits by the required means", false},
    {Misfit::kTooSmall, "request is smaller than one chunk of the GPU cards' compute", false},
    {Misfit::kTooLarge, "request is larger than the node's GPU cards", false},
    {Misfit::kIsolationBusy, "GPU cards are in use with another isolation", true},
    {Misfit::kSharers, "GPU cards have no place for another sharer", true},
    {Misfit::kRoom, "no GPU card has enough free memory and compute", true},
    {Misfit::kTogether, "containers of the pod do not fit the node's GPU cards together", true},
    {Misfit::kNotTried,
     "containers of the pod could go onto the node's GPU cards in too many ways to try them all "
     "now",
     true},
}};

const MisfitFacts& facts(Misfit misfit) { return kFacts[static_cast<std::size_t>(misfit)]; }

std::optional<Misfit> name_misfit(const GpuRequest& request, const Card& card) {
  if (!is_of_models(request, card)) return Misfit::kModel;
  if (!request.card_ids.empty() && !globs_match(request.card_ids, card.id)) return Misfit::kCardId;
  return std::nullopt;
}

/// Does the node's sharing configuration give the pod replicas of the card?
bool gives_replicas(const GpuRequest& request, const CardTraits& card) {
  if (!request.asks_replicas()) return true;
  return std::ranges::all_of(request.containers, [&](const ContainerRequest& container) {
    // A container can speak to the MPS daemon of one card only.
    const bool one_each = card.replicas.one_each || card.replicas.isolation == Isolation::kMps;
    const bool too_many = one_each && card.replicas.count > 1 && container.count > 1;
    return container.share.resource == card.replicas.resource && !too_many;
  });
}

std::optional<Misfit> traits_misfit(const GpuRequest& request, const Slice& slice,
                                    const CardTraits& card, const CardUse& use) {
  if (!gives_replicas(request, card)) return Misfit::kReplicas;
  if (!card.available()) return Misfit::kUnavailable;
  const Isolation mode = mode_on(request, card);
  // A card that one container has to itself needs nothing that keeps sharers apart.
  if (!slice.whole) {
    if (!card.isolation.has(mode)) return Misfit::kIsolationUnsupported;
    if (in_mode(card.memory_limits, mode) < request.memory_limits) {
      return Misfit::kMemoryLimits;
    }
    const bool in_chunks = card.compute_chunks > 0 && mode == Isolation::kMps;
    if (in_chunks && slice.compute == MilliGpu()) return Misfit::kTooSmall;
  }
  return room_misfit(slice, mode, card, use);
}

/// The furthest that enough of the node's cards get: a card that fails late counts for every
/// earlier stage, so the answer names what to change to get `count` cards further.
std::optional<Misfit> container_misfit(const GpuRequest& request, const ContainerRequest& container,
                                       const NodeState& node) {
  const auto wanted = static_cast<std::size_t>(container.count);
  if (node.traits().size() < wanted) return Misfit::kNoCards;
  std::array<std::size_t, kMisfits> stopped{};
  std::size_t alive = node.traits().size();
  for (std::uint32_t i = 0; i < node.traits().size(); ++i) {
    const auto misfit = card_misfit(request, slice_of(container.share, node.traits()[i]), node, i);
    if (misfit) ++stopped[static_cast<std::size_t>(*misfit)];
  }
  for (std::size_t stage = 0; stage < kMisfits; ++stage) {
    alive -= stopped[stage];
    if (alive < wanted) return static_cast<Misfit>(stage);
  }
  return std::nullopt;
}

}  // namespace

std::string_view reason(Misfit misfit) { return facts(misfit).reason; }

bool is_of_models(const GpuRequest& request, const Card& card) {
  return request.models.empty() || globs_match(request.models, card.model);
}

bool resolvable(Misfit misfit) { return facts(misfit).resolvable; }

std::optional<Misfit> room_misfit(const Slice& slice, Isolation mode, const CardTraits& card,
                                  const CardUse& use) {
  if (slice.memory > card.memory || slice.compute > card.compute) return Misfit::kTooLarge;
  if (slice.whole) return use.idle() ? std::nullopt : std::optional(Misfit::kRoom);
  if (use.whole > 0) return Misfit::kRoom;
  if (!use.mode_free_for(mode)) return Misfit::kIsolationBusy;
  if (use.sharer_count() >= card.max_sharers) return Misfit::kSharers;
  if (slice.memory > free_memory(card, use) || slice.compute > free_compute(card, use)) {
    return Misfit::kRoom;
  }
  return std::nullopt;
}

std::optional<Misfit> card_misfit(const GpuRequest& request, const Slice& slice, const Card& card,
                                  const CardUse& use) {
  const auto unnamed = name_misfit(request, card);
  return unnamed ? unnamed : traits_misfit(request, slice, card, use);
}

std::optional<Misfit> card_misfit(const GpuRequest& request, const Slice& slice,
                                  const NodeState& node, std::uint32_t card) {
  if (!request.models.empty() || !request.card_ids.empty()) {
    if (const auto unnamed = name_misfit(request, node.cards()[card])) return unnamed;
  }
  return traits_misfit(request, slice, node.traits()[card], node.use[card]);
}

Misfit why_not(const GpuRequest& request, const NodeState& node) {
  if (!node.present) return Misfit::kUnknownNode;
  for (const ContainerRequest& container : request.containers) {
    if (const auto misfit = container_misfit(request, container, node)) return *misfit;
  }
  return Misfit::kTogether;
}

}  // namespace tangram::model
