#include "policies/bestfit.hpp"

#include "model/placement.hpp"
#include "policies/fragmentation_measure.hpp"

#include <algorithm>

namespace tangram::policies {

namespace {

__extension__ using Wide = __int128;

/// Least free compute first, then least free memory: both in one number, highest wins.
std::int64_t tightness(const model::Card& card, const model::CardUse& use) {
  constexpr std::int64_t kMemorySpan = std::int64_t{1} << 40;  // MiB; no card comes near 2^60 bytes
  const std::int64_t memory = std::min(model::free_memory(card, use).count(), kMemorySpan - 1);
  return -(model::free_compute(card, use).count() * kMemorySpan + memory);
}

MilliGpu taken_compute(const model::PodDemand& demand, const model::NodeState& node,
                       const model::Placement& placement) {
  const auto use = model::use_after(demand.gpu, node, placement);
  MilliGpu taken;
  for (std::size_t i = 0; i < use.size(); ++i) {
    const model::Card& card = node.cards()[i];
    if (card.available()) {
      taken += model::free_compute(card, node.use[i]) - model::free_compute(card, use[i]);
    }
  }
  return taken;
}

}  // namespace

std::optional<Choice> BestFit::do_choose(const model::PodDemand& demand,
                                         const model::NodeState& node, model::SearchBudget& budget,
                                         model::CardMemo* memo) const {
  const auto placement = model::place(
      demand.gpu, node,
      [&node](const model::Slice& /*slice*/, std::uint32_t card, const model::CardUse& use) {
        return tightness(node.cards()[card], use);
      },
      budget, 1, memo);
  if (!placement) return std::nullopt;
  const MilliCpu cpu = std::max(node.free_cpu() - demand.footprint.cpu, MilliCpu{});
  const MilliGpu gpu = idle_compute(node) - taken_compute(demand, node, *placement);
  // 1 - 0.5 c / C - 0.5 g / G over the common denominator 2 C G.
  const Wide empty = Wide{2} * cpu_.count() * gpu_.count();
  const Wide left = Wide{cpu.count()} * gpu_.count() + Wide{gpu.count()} * cpu_.count();
  const Wide score = 100 - (100 * left + empty - 1) / empty;  // rounded down
  return Choice{.score = static_cast<std::int64_t>(score), .placement = *placement};
}

}  // namespace tangram::policies
