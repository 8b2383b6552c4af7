#include "policies/fragmentation_measure.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tangram::policies {

namespace {

std::int64_t free_milli(const model::Card& card, const model::CardUse& use) {
  return card.available() ? model::free_compute(card, use).count() : 0;
}

}  // namespace

FragmentationMeasure::FragmentationMeasure(const Workload& workload) : pods_(workload.total) {
  std::unordered_map<model::PodDemand, std::size_t, ShapeHash> kind_of;
  std::vector<std::map<std::int64_t, std::int64_t>> pods_by_cpu;
  for (const WorkloadClass& next : workload.classes) {
    if (!next.demand.gpu.asks_gpu()) {
      pods_without_gpu_ += next.count;
      continue;
    }
    model::PodDemand gpu_part = shape_of({.gpu = next.demand.gpu, .footprint = {}});
    const auto [found, is_new] = kind_of.try_emplace(std::move(gpu_part), kinds_.size());
    if (is_new) {
      add_kind(found->first.gpu);
      pods_by_cpu.emplace_back();
    }
    pods_by_cpu[found->second][next.demand.footprint.cpu.count()] += next.count;
  }
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    std::int64_t pods = 0;
    for (const auto& [cpu, count] : pods_by_cpu[k]) {
      pods += count;
      kinds_[k].cpu.push_back(cpu);
      kinds_[k].weight.push_back(pods);
    }
  }
}

void FragmentationMeasure::add_kind(const model::GpuRequest& request) {
  Kind kind{.request = request, .first_piece = pieces_.size(), .cpu = {}, .weight = {}};
  int whole_cards = 0;
  for (const model::ContainerRequest& container : request.containers) {
    if (container.share.whole()) {
      whole_cards += container.count;
    } else {
      pieces_.push_back({.share = container.share, .count = container.count});
    }
  }
  if (whole_cards > 0) pieces_.push_back({.share = {}, .count = whole_cards});
  kind.pieces_end = pieces_.size();
  kinds_.push_back(std::move(kind));
}

std::int64_t FragmentationMeasure::Kind::pods_within(MilliCpu free) const {
  const auto beyond = std::upper_bound(cpu.begin(), cpu.end(), free.count());
  return beyond == cpu.begin() ? 0 : weight[static_cast<std::size_t>(beyond - cpu.begin()) - 1];
}

double FragmentationMeasure::fragmented_milli(const model::NodeState& node) const {
  const std::int64_t gpu_pods = pods_ - pods_without_gpu_;
  if (gpu_pods == 0) return 0;
  const NodeFragmentation here(*this, node.cards(), node.use);
  return static_cast<double>(here.weighted_gpu_only(node.free_cpu())) /
         static_cast<double>(gpu_pods);
}

NodeFragmentation::NodeFragmentation(const FragmentationMeasure& measure,
                                     const std::vector<model::Card>& cards,
                                     const std::vector<model::CardUse>& use)
    : measure_(measure),
      cards_(cards),
      takes_(cards.size() * measure.pieces_.size()),
      fitting_(measure.pieces_.size()),
      stranded_(measure.kinds_.size()) {
  for (std::uint32_t card = 0; card < cards.size(); ++card) {
    const auto like =
        std::find_if(sort_example_.begin(), sort_example_.end(),
                     [&](std::uint32_t example) { return same_make(cards[example], cards[card]); });
    sort_of_.push_back(static_cast<std::uint32_t>(like - sort_example_.begin()));
    if (like == sort_example_.end()) {
      sort_example_.push_back(card);
      add_card_sort(cards[card]);
    }
  }
  for (std::uint32_t card = 0; card < cards.size(); ++card) tally(card, use[card]);
}

void NodeFragmentation::add_card_sort(const model::Card& card) {
  const model::CardUse idle;
  for (const FragmentationMeasure::Kind& kind : measure_.kinds_) {
    for (std::size_t p = kind.first_piece; p < kind.pieces_end; ++p) {
      const model::Slice slice = slice_of(measure_.pieces_[p].share, card);
      const bool possible = !card_misfit(kind.request, slice, card, idle).has_value();
      on_card_.push_back({.possible = possible, .slice = slice});
    }
  }
}

bool NodeFragmentation::takes(std::size_t piece, const FragmentationMeasure::Kind& kind,
                              std::uint32_t card, const model::CardUse& use) const {
  const PieceOnCard& here = on_card_[sort_of_[card] * measure_.pieces_.size() + piece];
  return here.possible &&
         !room_misfit(here.slice, mode_on(kind.request, cards_[card]), cards_[card], use)
              .has_value();
}

void NodeFragmentation::tally(std::uint32_t card, const model::CardUse& use) {
  const std::int64_t free = free_milli(cards_[card], use);
  free_.push_back(free);
  idle_ += free;
  for (std::size_t k = 0; k < measure_.kinds_.size(); ++k) {
    const FragmentationMeasure::Kind& kind = measure_.kinds_[k];
    bool of_use = false;
    for (std::size_t p = kind.first_piece; p < kind.pieces_end; ++p) {
      if (!takes(p, kind, card, use)) continue;
      of_use = true;
      takes_[card * measure_.pieces_.size() + p] = true;
      ++fitting_[p];
    }
    if (!of_use) stranded_[k] += free;
  }
}

std::int64_t NodeFragmentation::weighted(MilliCpu free_cpu) const {
  return weighted_gpu_only(free_cpu) + measure_.pods_without_gpu_ * idle_;
}

std::int64_t NodeFragmentation::weighted_gpu_only(MilliCpu free_cpu) const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < measure_.kinds_.size(); ++k) {
    const FragmentationMeasure::Kind& kind = measure_.kinds_[k];
    bool runs = true;
    for (std::size_t p = kind.first_piece; p < kind.pieces_end; ++p) {
      runs = runs && fitting_[p] >= measure_.pieces_[p].count;
    }
    const std::int64_t running = runs ? kind.pods_within(free_cpu) : 0;
    sum += running * stranded_[k] + (kind.pods() - running) * idle_;
  }
  return sum;
}

NodeFragmentation::Effect NodeFragmentation::effect_on(const FragmentationMeasure::Kind& kind,
                                                       std::uint32_t card,
                                                       const model::CardUse& use) const {
  Effect effect;
  for (std::size_t p = kind.first_piece; p < kind.pieces_end; ++p) {
    const bool took = takes_[card * measure_.pieces_.size() + p];
    const bool takes_now = takes(p, kind, card, use);
    const std::int32_t fitting = fitting_[p] - (took ? 1 : 0) + (takes_now ? 1 : 0);
    effect.was_of_use = effect.was_of_use || took;
    effect.is_of_use = effect.is_of_use || takes_now;
    effect.runs = effect.runs && fitting >= measure_.pieces_[p].count;
  }
  return effect;
}

std::int64_t NodeFragmentation::weighted_if(std::uint32_t card, const model::CardUse& use,
                                            MilliCpu free_cpu) const {
  const std::int64_t free = free_milli(cards_[card], use);
  const std::int64_t idle = idle_ - free_[card] + free;
  std::int64_t sum = measure_.pods_without_gpu_ * idle;
  for (std::size_t k = 0; k < measure_.kinds_.size(); ++k) {
    const FragmentationMeasure::Kind& kind = measure_.kinds_[k];
    const Effect effect = effect_on(kind, card, use);
    const std::int64_t stranded =
        stranded_[k] - (effect.was_of_use ? 0 : free_[card]) + (effect.is_of_use ? 0 : free);
    const std::int64_t running = effect.runs ? kind.pods_within(free_cpu) : 0;
    sum += running * stranded + (kind.pods() - running) * idle;
  }
  return sum;
}

}  // namespace tangram::policies
