#include "model/node_state.hpp"

namespace tangram::model {

void charge(CardUse& use, Mebibytes memory, MilliGpu compute, Isolation mode, int sign) {
  use.memory += Mebibytes(sign * memory.count());
  use.compute += MilliGpu(sign * compute.count());
  use.sharers[static_cast<std::size_t>(mode)] += sign;
}

std::optional<std::uint32_t> NodeState::card_index(std::string_view uuid) const {
  const std::vector<Card>& all = cards();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].id == uuid) return i;
  }
  return std::nullopt;
}

void apply_holding(NodeState& node, const Holding& holding, int sign) {
  node.requested.cpu += MilliCpu(sign * holding.footprint.cpu.count());
  node.requested.memory += Mebibytes(sign * holding.footprint.memory.count());
  for (const ContainerGrant& container : holding.containers) {
    for (const GrantedCard& card : container.cards) {
      if (const auto index = node.card_index(card.uuid)) {
        charge(node.use[*index], card.memory, card.compute, holding.isolation, sign);
      } else {
        node.stray_grants += sign;
      }
    }
  }
}

NodeState without_pods(const NodeState& node, const std::vector<std::string>& pod_uids) {
  NodeState rest = node;
  std::erase_if(rest.holdings, [&](const HoldingPtr& holding) {
    const bool leaves =
        std::find(pod_uids.begin(), pod_uids.end(), holding->pod_uid) != pod_uids.end();
    if (leaves) apply_holding(rest, *holding, -1);
    return leaves;
  });
  return rest;
}

}  // namespace tangram::model
