#include "model/node_state.hpp"

#include <boost/container_hash/hash.hpp>

namespace tangram::model {

void NodeState::equip(NodeInventory what) {
  CardMake cards;
  for (const Card& card : what.cards) {
    const Card* const before = cards.empty() ? nullptr : &card - 1;
    const CardTraits& traits = card;
    const bool as_before = before != nullptr && same_make(*before, card);
    cards.push_back({traits, as_before, as_before ? std::string() : card.model});
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

const Allocation* NodeState::find_allocation(std::string_view pod_uid) const {
  const auto found = std::lower_bound(
      allocations.begin(), allocations.end(), pod_uid,
      [](const AllocationPtr& each, std::string_view uid) { return each->pod_uid < uid; });
  return found != allocations.end() && (*found)->pod_uid == pod_uid ? found->get() : nullptr;
}

bool look_alike(const NodeState& a, const NodeState& b) {
  const NodeInventory& has = *a.inventory;
  const NodeInventory& other = *b.inventory;
  return a.present == b.present && a.use == b.use && a.requested == b.requested &&
         has.cpu == other.cpu && has.memory == other.memory && has.slots == other.slots &&
         (a.make == b.make || *a.make == *b.make);
}

std::size_t look_hash(const NodeState& node) {
  const NodeInventory& has = *node.inventory;
  std::size_t seed = node.use.size();
  boost::hash_combine(seed, has.cpu.count());
  boost::hash_combine(seed, has.memory.count());
  if (!has.cards.empty()) boost::hash_combine(seed, has.cards.front().model);
  boost::hash_combine(seed, node.requested.cpu.count());
  boost::hash_combine(seed, node.requested.memory.count());
  for (const CardUse& use : node.use) {
    boost::hash_combine(seed, use.memory.count());
    boost::hash_combine(seed, use.compute.count());
    boost::hash_combine(seed, use.sharer_count());
  }
  return seed;
}

namespace {

void lower_to(int& least_priority, const Allocation& allocation) {
  if (!allocation.containers.empty()) {
    least_priority = std::min(least_priority, allocation.priority);
  }
}

}  // namespace

void find_least_priority(NodeState& node) {
  node.least_priority = kNoPriority;
  for (const AllocationPtr& allocation : node.allocations) {
    lower_to(node.least_priority, *allocation);
  }
}

const ResizeAnswer* answer_of(const NodeInventory& node, std::string_view pod_uid) {
  const auto answer = node.resizes.find(pod_uid);
  return answer == node.resizes.end() ? nullptr : &answer->second;
}

const CardAmounts* held_of(const ResizeAnswer* answer, std::string_view container,
                           std::string_view uuid) {
  if (answer == nullptr) return nullptr;
  const auto cards = answer->held.find(container);
  if (cards == answer->held.end()) return nullptr;
  const auto held = cards->second.find(uuid);
  return held == cards->second.end() ? nullptr : &held->second;
}

bool is_settled(const NodeInventory& node, const Allocation& allocation) {
  if (allocation.revision == 0) return true;
  const ResizeAnswer* const answer = answer_of(node, allocation.pod_uid);
  return answer != nullptr && answer->applied >= allocation.revision;
}

CardAmounts most_of(const GrantedCard& part, std::string_view container, const ResizeAnswer* answer,
                    bool settled) {
  CardAmounts most = part.amounts();
  if (part.former && !settled) most = larger_of(most, *part.former);
  const CardAmounts* const held = held_of(answer, container, part.uuid);
  return held == nullptr ? most : larger_of(most, *held);
}

void apply_allocation(NodeState& node, const Allocation& allocation, int sign) {
  node.requested.cpu += MilliCpu(sign * allocation.footprint.cpu.count());
  node.requested.memory += Mebibytes(sign * allocation.footprint.memory.count());
  node.requested.slots += sign * allocation.footprint.slots;
  if (sign > 0) lower_to(node.least_priority, allocation);
  const bool settled = is_settled(*node.inventory, allocation);
  const ResizeAnswer* const answer = answer_of(*node.inventory, allocation.pod_uid);
  for (const ContainerGrant& container : allocation.containers) {
    for (const GrantedCard& card : container.cards) {
      if (const auto index = node.card_index(card.uuid)) {
        Slice slice = slice_of(card, node.cards()[*index]);
        const CardAmounts most = most_of(card, container.container, answer, settled);
        slice.memory = most.memory;
        slice.compute = most.compute;
        charge(node.use[*index], slice, allocation.isolation, sign);
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
  find_least_priority(rest);
  return rest;
}

}  // namespace

MilliGpu idle_compute(const NodeState& node) {
  MilliGpu idle;
  for (std::size_t i = 0; i < node.traits().size(); ++i) {
    const CardTraits& card = node.traits()[i];
    if (card.available()) idle += free_compute(card, node.use[i]);
  }
  return idle;
}

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
