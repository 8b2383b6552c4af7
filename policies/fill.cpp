#include "policies/fill.hpp"

#include <algorithm>

namespace tangram::policies {

namespace {

/// What has no capacity is full: nothing more can go there.
std::int64_t share(std::int64_t used, std::int64_t capacity) {
  if (used >= capacity) return kFull;
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(Wide{kFull} * std::max<std::int64_t>(used, 0) / capacity);
}

}  // namespace

std::int64_t card_fill(const model::Card& card, const model::CardUse& use) {
  return std::max(share(use.memory.count(), card.memory.count()),
                  share(use.compute.count(), card.compute.count()));
}

std::int64_t node_fill_after(const model::PodDemand& demand, const model::NodeState& node,
                             const model::Placement& placement) {
  if (!demand.gpu.asks_gpu()) {
    const model::NodeInventory& has = *node.inventory;
    return std::max(
        share((node.requested.cpu + demand.footprint.cpu).count(), has.cpu.count()),
        share((node.requested.memory + demand.footprint.memory).count(), has.memory.count()));
  }
  const auto use = model::use_after(demand.gpu, node, placement);
  model::Card all;  // one card as large as all of them
  all.compute = {};
  model::CardUse taken;
  for (std::size_t i = 0; i < use.size(); ++i) {
    const model::Card& card = node.cards()[i];
    if (!card.available()) continue;
    all.memory += card.memory;
    all.compute += card.compute;
    taken.memory += std::min(use[i].memory, card.memory);
    taken.compute += std::min(use[i].compute, card.compute);
  }
  return card_fill(all, taken);
}

}  // namespace tangram::policies
