#include "policies/least_waste.hpp"

#include "model/answer_memo.hpp"
#include "model/placement.hpp"
#include "policies/demand_size.hpp"
#include "policies/fill.hpp"
#include "policies/topology.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

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

  const bool opens =
      !placement->empty() && std::all_of(node.use.begin(), node.use.end(),
                                         [](const model::CardUse& use) { return use.idle(); });
  const std::int64_t score_there =
      score({.demand = demand, .waste = waste, .cards = taken, .compute = compute, .opens = opens},
            {.cards = static_cast<std::int64_t>(node.traits().size()),
             .idle = idle_compute(node).count(),
             .free_cpu = node.free_cpu(),
             .pressure = prices_->pressure_on(*node.inventory)});
  return Choice{.score = score_there, .placement = *std::move(placement)};
}

std::int64_t LeastWaste::score(const Pod& pod, const Node& node) const {
  const std::int64_t idle_after = std::max<std::int64_t>(0, node.idle - pod.compute);
  const MilliCpu cpu_after = std::max(node.free_cpu - pod.demand.footprint.cpu, MilliCpu{});
  const std::int64_t deficit =
      cpu_deficit(idle_after, cpu_after) - cpu_deficit(node.idle, node.free_cpu);
  std::int64_t waste = pod.waste + weights_.cpu_deficit * deficit / 100;
  // Thousandths of a card times thousandths are millionths.
  waste += weights_.scarcity * node.pressure * pod.cards / 100;
  if (pod.opens && node.cards > 1) waste += weights_.opening * prices_->opening / 100;
  if (node.cards > 0) waste += kIdleTie * idle_after / (1000 * node.cards);
  return -waste;
}

/// For requests of one container. The cards of a node with a brief are alike, so the score follows
/// from how little goes to waste on the best of them; which ones those are does not matter.
class LeastWaste::Scorer final : public BriefScorer {
 public:
  Scorer(const LeastWaste& policy, const model::PodDemand& demand)
      : policy_(policy),
        demand_(demand),
        wanted_(static_cast<std::size_t>(demand.gpu.containers.front().count)),
        card_waste_(*policy.prices_, policy.weights_, demand.gpu) {}

  void begin_walk() override { answers_.begin_walk(); }
  [[nodiscard]] Verdict judge(const model::NodeBrief& node) override {
    const std::size_t cards = node.make->size();
    if (cards < wanted_) return Verdict(model::Misfit::kNoCards);
    const Make& make = make_of(node);
    if (make.misfit) return Verdict(*make.misfit);
    const Verdict all = wanted_ == 1 ? best_card(make, node, cards) : best_cards(make, node, cards);
    if (!all.fits()) return all;
    const bool idle = std::all_of(node.use.begin(), node.use.end(),
                                  [](model::PackedUse use) { return use == 0; });
    return Verdict(policy_.score({.demand = demand_,
                                  .waste = -all.score(),
                                  .cards = make.size,
                                  .compute = make.compute,
                                  .opens = idle},
                                 {.cards = static_cast<std::int64_t>(cards),
                                  .idle = node.idle.count(),
                                  .free_cpu = node.free_cpu,
                                  .pressure = make.pressure}));
  }

 private:
  /// What the container asks of cards of one make.
  struct Make {
    std::shared_ptr<const model::CardMake> cards;  ///< held: no other make has its address
    std::optional<model::Misfit> misfit;           ///< nothing = an idle one takes the container
    model::Slice slice;
    model::Isolation mode = model::Isolation::kNone;
    std::int64_t size = 0;           ///< of all slices, in thousandths of a card
    std::int64_t compute = 0;        ///< of all slices, in milli
    std::uint64_t first_answer = 0;  ///< added to a packed use: what is asked
    // Of the latest node. Most nodes with such cards are of one kind.
    int cpu_octave = -1;
    int memory_octave = -1;
    std::int64_t pressure = 0;
  };
  struct Hash {
    [[nodiscard]] std::uint64_t operator()(std::uint64_t question) const {
      return question * 0x9e37'79b9'7f4a'7c15;
    }
  };
  /// Their numbers are the upper bits of a question, from 1 on: 0 is no question.
  static constexpr std::size_t kMostMakes = (std::size_t{1} << model::kSpareBits) - 1;

  const Make& make_of(const model::NodeBrief& node) {
    if (latest_ >= makes_.size() || makes_[latest_].cards.get() != node.make) {
      latest_ = find_or_add(node);
    }
    Make& make = makes_[latest_];
    const int cpu = octave(node.cpu.count());
    const int memory = octave(node.memory.count());
    if (make.cpu_octave != cpu || make.memory_octave != memory) {
      make.cpu_octave = cpu;
      make.memory_octave = memory;
      make.pressure = policy_.prices_->pressure_on(*node.node->inventory);
    }
    return make;
  }
  std::size_t find_or_add(const model::NodeBrief& node) {
    const auto known = std::ranges::find_if(
        makes_, [&](const Make& make) { return make.cards.get() == node.make; });
    if (known != makes_.end()) return static_cast<std::size_t>(known - makes_.begin());
    if (makes_.size() == kMostMakes) {
      makes_.clear();
      answers_.forget_all();
    }
    const model::GpuRequest& request = demand_.gpu;
    const model::Slice slice = slice_of(request.containers.front().share, node.make->front());
    const auto count = static_cast<std::int64_t>(wanted_);
    makes_.push_back(
        {.cards = node.node->make,
         .misfit = card_misfit(request, slice, node.node->cards().front(), {}),
         .slice = slice,
         .mode = mode_on(request, node.make->front()),
         .size = count * size_on(slice, node.make->front()),
         .compute = count * slice.compute.count(),
         .first_answer = std::uint64_t{makes_.size() + 1} << (64U - model::kSpareBits)});
    return makes_.size() - 1;
  }

  [[nodiscard, gnu::always_inline]] Verdict judge_card(const Make& make, model::PackedUse word) {
    return answers_.answer(make.first_answer + word, [&] {
      const model::CardTraits& card = make.cards->front();
      const model::CardUse use = model::unpacked(word);
      const auto misfit = model::room_misfit(make.slice, make.mode, card, use);
      return misfit ? Verdict(*misfit) : Verdict(-card_waste_(card, use, make.slice));
    });
  }
  [[nodiscard]] Verdict best_card(const Make& make, const model::NodeBrief& node,
                                  std::size_t cards) {
    Verdict best = judge_card(make, node.use[0]);
    for (std::size_t i = 1; i < cards; ++i) best = std::max(best, judge_card(make, node.use[i]));
    return best;
  }
  /// @returns what as many as are wanted score together; or how far so many get, if not far enough
  [[nodiscard]] Verdict best_cards(const Make& make, const model::NodeBrief& node,
                                   std::size_t cards) {
    std::array<Verdict, model::NodeBrief::kMostCards> best;
    for (std::size_t i = 0; i < cards; ++i) best[i] = judge_card(make, node.use[i]);
    const auto end = best.begin() + static_cast<std::ptrdiff_t>(wanted_);
    std::partial_sort(best.begin(), end, best.begin() + static_cast<std::ptrdiff_t>(cards),
                      std::greater());
    const Verdict worst = *(end - 1);
    if (!worst.fits()) return worst;
    return Verdict(
        std::accumulate(best.begin(), end, std::int64_t{0},
                        [](std::int64_t sum, Verdict card) { return sum + card.score(); }));
  }

  const LeastWaste& policy_;
  const model::PodDemand& demand_;
  const std::size_t wanted_;  ///< cards
  CardWaste card_waste_;
  std::vector<Make> makes_;
  std::size_t latest_ = 0;
  model::AnswerMemo<std::uint64_t, Verdict, Hash> answers_{8, 12};
};

std::unique_ptr<BriefScorer> LeastWaste::brief_scorer(const model::PodDemand& demand) const {
  const auto& containers = demand.gpu.containers;
  const bool one = containers.size() == 1 && containers.front().count > 0;
  if (!one || !demand.gpu.card_ids.empty()) return nullptr;
  return std::make_unique<Scorer>(*this, demand);
}

}  // namespace tangram::policies
