#include "model/node_state.hpp"

namespace tangram::model {

void NodeState::equip(NodeInventory what) {
  CardMake cards;
  for (const Card& card : what.cards) {
    const Card* const before = cards.empty() ? nullptr : &card - 1;
    cards.push_back({card, before && before->model == card.model &&
                               static_cast<const CardTraits&>(*before) == card});
  }
  make = std::make_shared<const CardMake>(std::move(cards));
  inventory = std::make_shared<const NodeInventory>(std::move(what));
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
  node.requested.slots += sign * holding.footprint.slots;
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

namespace {

template <class Leaves>
NodeState without(const NodeState& node, Leaves&& leaves) {
  NodeState rest = node;
  std::erase_if(rest.holdings, [&](const HoldingPtr& holding) {
    if (!leaves(*holding)) return false;
    apply_holding(rest, *holding, -1);
    return true;
  });
  return rest;
}

}  // namespace

NodeState without_pods(const NodeState& node, const std::vector<std::string>& pod_uids) {
  return without(node, [&](const Holding& holding) {
    return std::find(pod_uids.begin(), pod_uids.end(), holding.pod_uid) != pod_uids.end();
  });
}

bool has_tentative(const NodeState& node) {
  return std::any_of(node.holdings.begin(), node.holdings.end(),
                     [](const HoldingPtr& holding) { return holding->tentative; });
}

NodeState granted_only(const NodeState& node) {
  return without(node, [](const Holding& holding) { return holding.tentative; });
}

NodeState with_pod(const NodeState& node, const Holding& holding) {
  NodeState more = node;
  apply_holding(more, holding, 1);
  more.holdings.push_back(std::make_shared<const Holding>(holding));
  return more;
}

}  // namespace tangram::model
