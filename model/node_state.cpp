#include "model/node_state.hpp"

namespace tangram::model {

void NodeState::equip(NodeInventory what) {
  CardMake cards;
  for (const Card& card : what.cards) {
    const Card* const before = cards.empty() ? nullptr : &card - 1;
    const CardTraits& traits = card;
    cards.push_back({traits, before != nullptr && same_make(*before, card)});
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

void apply_allocation(NodeState& node, const Allocation& allocation, int sign) {
  node.requested.cpu += MilliCpu(sign * allocation.footprint.cpu.count());
  node.requested.memory += Mebibytes(sign * allocation.footprint.memory.count());
  node.requested.slots += sign * allocation.footprint.slots;
  for (const ContainerGrant& container : allocation.containers) {
    for (const GrantedCard& card : container.cards) {
      if (const auto index = node.card_index(card.uuid)) {
        charge(node.use[*index], card.memory, card.compute, allocation.isolation, sign);
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
  std::erase_if(rest.allocations, [&](const AllocationPtr& allocation) {
    if (!leaves(*allocation)) return false;
    apply_allocation(rest, *allocation, -1);
    return true;
  });
  return rest;
}

}  // namespace

NodeState without_pods(const NodeState& node, const std::vector<std::string>& pod_uids) {
  return without(node, [&](const Allocation& allocation) {
    return std::find(pod_uids.begin(), pod_uids.end(), allocation.pod_uid) != pod_uids.end();
  });
}

bool has_tentative(const NodeState& node) {
  return std::any_of(node.allocations.begin(), node.allocations.end(),
                     [](const AllocationPtr& allocation) { return allocation->tentative; });
}

NodeState granted_only(const NodeState& node) {
  return without(node, [](const Allocation& allocation) { return allocation.tentative; });
}

NodeState with_pod(const NodeState& node, const Allocation& allocation) {
  NodeState more = node;
  apply_allocation(more, allocation, 1);
  more.allocations.push_back(std::make_shared<const Allocation>(allocation));
  return more;
}

}  // namespace tangram::model
