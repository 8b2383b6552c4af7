#include "policies/least_waste.hpp"

#include "model/placement.hpp"
#include "policies/demand_size.hpp"
#include "policies/fill.hpp"
#include "policies/fragmentation_measure.hpp"
#include "policies/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace tangram::policies {

namespace {

constexpr std::int64_t kPerMilli = kFull / 1000;
/// What a node that is all idle costs beside a full one: a tenth of a thousandth of a card.
constexpr std::int64_t kIdleTie = 100;

/// What is free of a card, in thousandths of it.
struct FreeShares {
  std::int64_t compute;
  std::int64_t memory;  ///< rounded down
};

FreeShares free_shares(const model::CardTraits& card, const model::CardUse& use) {
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  return {.compute = model::free_compute(card, use).count(),
          .memory = 1000 * model::free_memory(card, use).count() / memory};
}

/// The smaller of the two; nothing if the card takes no more sharers.
std::int64_t room_of(const model::CardTraits& card, const model::CardUse& use,
                     const FreeShares& free) {
  return use.sharer_count() >= card.max_sharers ? 0 : std::min(free.compute, free.memory);
}

std::int64_t imbalance(const model::CardTraits& card, const model::CardUse& use,
                       const FreeShares& free) {
  const std::int64_t apart = std::abs(free.compute - free.memory);
  // Fractions round their memory down by less than a MiB each: no imbalance.
  const std::int64_t memory = std::max<std::int64_t>(card.memory.count(), 1);
  const bool by_rounding = (apart - 1) * memory < 1000L * use.sharer_count();
  return by_rounding ? 0 : apart;
}

/// What of a card is lost by what is put there, of one pod.
class CardWaste {
 public:
  CardWaste(const Prices& prices, const WasteWeights& weights, const model::GpuRequest& request)
      : prices_(prices), weights_(weights), request_(request) {}

  std::int64_t operator()(const model::CardTraits& card, const model::CardUse& before,
                          const model::Slice& slice) {
    // A whole card is asked for as such: there is no rest, and no other card would do better.
    if (slice.whole) return 0;
    if (card.memory != memory_) {
      rests_ = prices_.rests_for(card.memory);
      memory_ = card.memory;
    }
    model::CardUse after = before;
    model::charge(after, slice, mode_on(request_, card));
    const FreeShares free = free_shares(card, before);
    const FreeShares left = free_shares(card, after);
    const std::int64_t room = room_of(card, before, free);
    const std::int64_t cut =
        rest_value(rests_, room) - rest_value(rests_, room_of(card, after, left));
    const std::int64_t unbalanced =
        (imbalance(card, after, left) - imbalance(card, before, free)) * kPerMilli / 2;
    const std::int64_t opened = before.idle() ? prices_.card_opening : 0;
    return (weights_.cutting * cut + weights_.balance * unbalanced + weights_.opening * opened) /
               100 +
           room;
  }

 private:
  const Prices& prices_;
  const WasteWeights& weights_;
  const model::GpuRequest& request_;
  Mebibytes memory_{-1};
  const Prices::CardRests* rests_ = nullptr;  ///< of cards with memory_
};

}  // namespace

std::int64_t LeastWaste::cpu_deficit(std::int64_t idle_milli, MilliCpu free_cpu) const {
  if (prices_->cpu_per_card == 0) return 0;
  const std::int64_t served = free_cpu.count() * kFull / prices_->cpu_per_card;
  return std::max<std::int64_t>(0, idle_milli * kPerMilli - served);
}

std::optional<Choice> LeastWaste::do_choose(const model::PodDemand& demand,
                                            const model::NodeState& node,
                                            model::SearchBudget& budget,
                                            model::CardMemo* memo) const {
  const NearbyCards nearby(demand.gpu, node);
  CardWaste card_waste(*prices_, weights_, demand.gpu);
  auto preference = [&](const model::Slice& slice, std::uint32_t card, const model::CardUse& use) {
    return nearby.preference(slice, card) - card_waste(node.traits()[card], use, slice);
  };
  // By reference: a copy of what it captures would have to be allocated, for every node.
  auto placement = model::place(demand.gpu, node, std::ref(preference), budget, 1, memo);
  if (!placement) return std::nullopt;

  std::int64_t waste = 0;
  std::int64_t taken = 0;    // thousandths of cards, by whichever of compute and memory decides
  std::int64_t compute = 0;  // milli
  model::for_each_pick(
      demand.gpu, node, *placement,
      [&](const model::ContainerRequest&, const model::Slice& slice, std::uint32_t card) {
        // Containers that share a card each count from what stands there now: a close estimate.
        waste += card_waste(node.traits()[card], node.use[card], slice);
        taken += size_on(slice, node.traits()[card]);
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
  const auto cards = static_cast<std::int64_t>(node.traits().size());
  const bool opens = cards > 1 && !placement->empty() &&
                     std::all_of(node.use.begin(), node.use.end(),
                                 [](const model::CardUse& use) { return use.idle(); });
  if (opens) waste += weights_.opening * prices_->opening / 100;
  waste += cards == 0 ? 0 : kIdleTie * idle_after / (1000 * cards);
  return Choice{.score = -waste, .placement = *std::move(placement)};
}

}  // namespace tangram::policies
