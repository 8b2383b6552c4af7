#include "policies/least_waste.hpp"

#include "model/placement.hpp"
#include "policies/demand_size.hpp"
#include "policies/fill.hpp"
#include "policies/fragmentation_measure.hpp"
#include "policies/topology.hpp"

#include <algorithm>
#include <cstdlib>

namespace tangram::policies {

namespace {

constexpr std::int64_t kPerMilli = kFull / 1000;
/// What a node that is all idle costs beside a full one: a tenth of a thousandth of a card.
constexpr std::int64_t kIdleTie = 100;

/// Free compute less free memory, in thousandths of the card.
std::int64_t imbalance(const model::Card& card, const model::CardUse& use) {
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  // Fractions round their memory down by less than a MiB each: no imbalance.
  const std::int64_t slack = (1000 * use.sharer_count() + memory - 1) / memory;
  const std::int64_t apart = std::abs(model::free_compute(card, use).count() -
                                      1000 * model::free_memory(card, use).count() / memory);
  return apart <= slack ? 0 : apart;
}

/// Calls visit(slice, card) for every card of a placement.
template <class Visit>
void for_each_slice(const model::PodDemand& demand, const model::NodeState& node,
                    const model::Placement& placement, Visit&& visit) {
  std::size_t next = 0;
  for (const model::ContainerRequest& container : demand.gpu.containers) {
    for (int i = 0; i < container.count; ++i) {
      const std::uint32_t card = placement[next++];
      visit(slice_of(container.share, node.cards()[card]), card);
    }
  }
}

}  // namespace

std::int64_t LeastWaste::card_waste(const model::Card& card, const model::CardUse& before,
                                    const model::Slice& slice, model::Isolation mode) const {
  const std::int64_t room = room_of(card, before);
  // A whole card is asked for as such: there is no rest, and no other card would do better.
  if (slice.whole) return 0;
  model::CardUse after = before;
  model::charge(after, slice.memory, slice.compute, mode);
  const std::int64_t cut =
      prices_->rest_value(card, room) - prices_->rest_value(card, room_of(card, after));
  const std::int64_t unbalanced =
      (imbalance(card, after) - imbalance(card, before)) * kPerMilli / 2;
  return (weights_.cutting * cut + weights_.balance * unbalanced) / 100 + room;
}

std::int64_t LeastWaste::cpu_deficit(std::int64_t idle_milli, MilliCpu free_cpu) const {
  if (prices_->cpu_per_card == 0) return 0;
  const std::int64_t served = free_cpu.count() * kFull / prices_->cpu_per_card;
  return std::max<std::int64_t>(0, idle_milli * kPerMilli - served);
}

std::optional<Choice> LeastWaste::choose(const model::PodDemand& demand,
                                         const model::NodeState& node) const {
  const NearbyCards nearby(demand.gpu, node);
  const auto placement =
      model::place(demand.gpu, node,
                   [&](const model::Slice& slice, std::uint32_t card, const model::CardUse& use) {
                     return nearby.preference(card) -
                            card_waste(node.cards()[card], use, slice, demand.gpu.isolation);
                   });
  if (!placement) return std::nullopt;

  std::int64_t waste = 0;
  std::int64_t taken = 0;    // thousandths of cards, by whichever of compute and memory decides
  std::int64_t compute = 0;  // milli
  for_each_slice(demand, node, *placement, [&](const model::Slice& slice, std::uint32_t card) {
    // Containers that share a card each count from what stands there now: a close estimate.
    waste += card_waste(node.cards()[card], node.use[card], slice, demand.gpu.isolation);
    taken += size_on(slice, node.cards()[card]);
    compute += slice.compute.count();
  });

  const std::int64_t idle = idle_compute(node).count();
  const std::int64_t idle_after = std::max<std::int64_t>(0, idle - compute);
  const MilliCpu cpu_after = std::max(node.free_cpu() - demand.footprint.cpu, MilliCpu{});
  const std::int64_t deficit =
      cpu_deficit(idle_after, cpu_after) - cpu_deficit(idle, node.free_cpu());
  waste += weights_.cpu_deficit * deficit / 100;
  // Thousandths of a card times thousandths are millionths.
  waste += weights_.scarcity * prices_->pressure_on(*node.inventory) * taken / 100;
  const auto cards = static_cast<std::int64_t>(node.cards().size());
  const bool opens = cards > 1 && !placement->empty() &&
                     std::all_of(node.use.begin(), node.use.end(),
                                 [](const model::CardUse& use) { return use.idle(); });
  if (opens) waste += weights_.opening * prices_->opening / 100;
  waste += cards == 0 ? 0 : kIdleTie * idle_after / (1000 * cards);
  return Choice{.score = -waste, .placement = *placement};
}

}  // namespace tangram::policies
