#include "cluster/effort.hpp"

#include "cluster/victims.hpp"
#include "model/fit.hpp"
#include "policies/demand_size.hpp"

#include <algorithm>

namespace tangram::cluster {

namespace {

using model::CardUse;
using model::NodeState;

std::int64_t pieces(std::int64_t amount, std::int64_t largest) {
  if (amount <= 0) return 0;
  return largest <= 0 ? 1 : (amount + largest - 1) / largest;
}

std::int64_t cards_of(const model::Allocation& pod) {
  std::int64_t cards = 0;
  for (const auto& container : pod.containers) {
    cards += static_cast<std::int64_t>(container.cards.size());
  }
  return cards;
}

std::int64_t size_of(MilliGpu compute, Mebibytes memory, const model::CardTraits& card) {
  model::Slice slice;
  slice.compute = compute;
  slice.memory = memory;
  return policies::size_on(slice, card);
}

std::optional<Effort> effort_on(const model::GpuRequest& request, const model::Slice& slice,
                                const NodeState& node, std::uint32_t index, const CardLoad& load) {
  const model::Card& card = node.cards()[index];
  const CardUse& use = node.use[index];
  if (!card_misfit(request, slice, node, index)) return Effort{};
  if (card_misfit(request, slice, card, load.fixed)) return std::nullopt;
  if (slice.whole || use.whole > 0 || !use.mode_free_for(mode_on(request, card))) {
    return Effort{load.movable,
                  size_of(use.compute - load.fixed.compute, use.memory - load.fixed.memory, card)};
  }
  const MilliGpu compute = std::max(slice.compute - free_compute(card, use), MilliGpu{});
  const Mebibytes memory = std::max(slice.memory - free_memory(card, use), Mebibytes{});
  const std::int64_t pods =
      std::max({std::int64_t{1}, pieces(compute.count(), load.largest_compute.count()),
                pieces(memory.count(), load.largest_memory.count())});
  return Effort{pods * load.least_share, size_of(compute, memory, card)};
}

/// For as many cards as the container takes.
std::optional<Effort> effort_for(const model::GpuRequest& request,
                                 const model::ContainerRequest& container, const NodeState& node,
                                 const NodeLoad& load) {
  const auto wanted = static_cast<std::size_t>(container.count);
  std::vector<Effort> cards;
  cards.reserve(load.cards.size());
  for (std::uint32_t i = 0; i < load.cards.size(); ++i) {
    const model::Slice slice = slice_of(container.share, node.traits()[i]);
    if (const auto effort = effort_on(request, slice, node, i, load.cards[i]))
      cards.push_back(*effort);
  }
  if (cards.size() < wanted) return std::nullopt;
  std::ranges::sort(cards);
  Effort sum;
  for (std::size_t i = 0; i < wanted; ++i) {
    sum.pods += cards[i].pods;
    sum.milli += cards[i].milli;
  }
  return sum;
}

void add_movable(CardLoad& card, const model::GrantedCard& granted, std::int64_t share) {
  card.movable += share;
  card.least_share = std::min(card.least_share, share);
  card.largest_compute = std::max(card.largest_compute, granted.compute);
  card.largest_memory = std::max(card.largest_memory, granted.memory);
}

/// Pods that have to leave so that so much is free.
std::optional<std::int64_t> leavers(std::int64_t wanted, std::int64_t free, std::int64_t movable,
                                    std::int64_t largest) {
  const std::int64_t missing = wanted - std::max(free, std::int64_t{0});
  if (missing <= 0) return 0;
  if (wanted > free + movable) return std::nullopt;
  return pieces(missing, largest);
}

/// Pods that have to leave because of CPU, memory and slots.
std::optional<std::int64_t> leavers_in_tree(const model::Footprint& pod, const NodeState& node,
                                            const NodeLoad& load) {
  const model::NodeInventory& has = *node.inventory;
  const model::Footprint& taken = node.requested;
  const auto cpu = leavers(pod.cpu.count(), (has.cpu - taken.cpu).count(), load.movable.cpu.count(),
                           load.largest.cpu.count());
  const auto memory = leavers(pod.memory.count(), (has.memory - taken.memory).count(),
                              load.movable.memory.count(), load.largest.memory.count());
  const auto slots = has.slots == 0 ? std::optional<std::int64_t>(0)
                                    : leavers(pod.slots, has.slots - taken.slots,
                                              load.movable.slots, load.largest.slots);
  if (!cpu || !memory || !slots) return std::nullopt;
  return std::max({*cpu, *memory, *slots});
}

void add_movable(NodeLoad& load, const model::Footprint& pod) {
  load.movable.cpu += pod.cpu;
  load.movable.memory += pod.memory;
  load.movable.slots += pod.slots;
  load.largest.cpu = std::max(load.largest.cpu, pod.cpu);
  load.largest.memory = std::max(load.largest.memory, pod.memory);
  load.largest.slots = std::max(load.largest.slots, pod.slots);
}

void add_pod(NodeLoad& load, const NodeState& node, const model::Allocation& pod, bool may_leave) {
  if (may_leave) add_movable(load, pod.footprint);
  const std::int64_t share = kPod / std::max(cards_of(pod), std::int64_t{1});
  for (const model::ContainerGrant& container : pod.containers) {
    for (const model::GrantedCard& granted : container.cards) {
      const auto index = node.card_index(granted.uuid);
      if (!index) continue;
      if (may_leave) {
        add_movable(load.cards[*index], granted, share);
      } else {
        charge(load.cards[*index].fixed, slice_of(granted, node.traits()[*index]), pod.isolation);
      }
    }
  }
}

}  // namespace

NodeLoad load_of(const NodeState& node,
                 const std::function<bool(const model::Allocation&)>& movable) {
  NodeLoad load{.cards = std::vector<CardLoad>(node.use.size()), .movable = {}, .largest = {}};
  for (const model::AllocationPtr& pod : node.allocations) {
    if (!pod->containers.empty()) add_pod(load, node, *pod, movable(*pod));
  }
  return load;
}

std::optional<Effort> least_effort(const model::PodDemand& demand, const NodeState& node,
                                   const NodeLoad& load) {
  const auto in_tree = leavers_in_tree(demand.footprint, node, load);
  if (!in_tree) return std::nullopt;
  Effort most;
  for (const model::ContainerRequest& container : demand.gpu.containers) {
    const auto effort = effort_for(demand.gpu, container, node, load);
    if (!effort) return std::nullopt;
    most = std::max(most, *effort);
  }
  // Some pod at least, whichever: perhaps its containers do not fit together.
  most.pods = std::max({most.pods, kPod * *in_tree, std::int64_t{1}});
  return most;
}

}  // namespace tangram::cluster
