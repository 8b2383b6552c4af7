#include "model/ledger.hpp"

#include "model/fit.hpp"

#include <algorithm>
#include <cassert>

namespace tangram::model {

namespace {

bool by_uid(const HoldingPtr& holding, std::string_view uid) { return holding->pod_uid < uid; }

void insert_holding(NodeState& node, const HoldingPtr& holding) {
  const auto place =
      std::lower_bound(node.holdings.begin(), node.holdings.end(), holding->pod_uid, by_uid);
  node.holdings.insert(place, holding);
  apply_holding(node, *holding, 1);
}

void remove_holding(NodeState& node, const Holding& holding) {
  const auto place =
      std::lower_bound(node.holdings.begin(), node.holdings.end(), holding.pod_uid, by_uid);
  apply_holding(node, holding, -1);
  node.holdings.erase(place);
}

/// Counts all holdings of the node anew, over the inventory it has now.
void recount(NodeState& node) {
  node.use.assign(node.cards().size(), CardUse{});
  node.requested = {};
  node.stray_grants = 0;
  for (const HoldingPtr& holding : node.holdings) apply_holding(node, *holding, 1);
}

/// The first card of the holding that cannot take its part, given the parts before it.
std::optional<std::string> first_refusing_card(const NodeState& node, const Holding& holding) {
  std::vector<CardUse> use = node.use;
  for (const ContainerGrant& container : holding.containers) {
    for (const GrantedCard& granted : container.cards) {
      const auto index = node.card_index(granted.uuid);
      if (!index) return granted.uuid;
      const Card& card = node.cards()[*index];
      const Slice slice{.memory = granted.memory,
                        .compute = granted.compute,
                        .memory_limit = granted.memory_limit,
                        .compute_limit = granted.compute_limit,
                        .whole = granted.memory == card.memory && granted.compute == card.compute};
      const bool can_keep_apart = slice.whole || card.isolation.has(holding.isolation);
      if (!card.available() || !can_keep_apart ||
          room_misfit(slice, holding.isolation, card, use[*index])) {
        return granted.uuid;
      }
      charge(use[*index], granted.memory, granted.compute, holding.isolation);
    }
  }
  return std::nullopt;
}

}  // namespace

void Ledger::put_node(NodeInventory inventory) {
  NodeState node = nodes_.checkout(inventory.name);
  if (node.present && *node.inventory == inventory) return;
  node.present = true;
  node.equip(std::move(inventory));
  recount(node);
  nodes_.put(std::move(node));
}

void Ledger::remove_node(std::string_view name) {
  const NodeState* known = nodes_.find(name);
  if (known == nullptr || !known->present) return;
  NodeState node = *known;
  node.present = false;
  node.equip({});
  recount(node);
  nodes_.put(std::move(node));
}

Result<void> Ledger::hold(Holding holding, std::chrono::milliseconds ttl) {
  const auto found = entries_.find(holding.pod_uid);
  if (found != entries_.end() && found->second.phase != Phase::kHeld) {
    return fail(Errc::kConflict, "pod " + holding.pod_uid + " holds a place already");
  }
  holding.tentative = true;
  return book(std::move(holding), Phase::kHeld, ttl);
}

void Ledger::drop_hold(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found != entries_.end() && found->second.phase == Phase::kHeld) erase(found);
}

Result<void> Ledger::assume(Holding holding, std::chrono::milliseconds ttl) {
  const auto found = entries_.find(holding.pod_uid);
  if (found != entries_.end()) {
    Entry& entry = found->second;
    if (entry.phase == Phase::kUnsure && *entry.holding == holding) {
      set_phase(entry, Phase::kAssumed);
      entry.ttl = ttl;
      set_deadline(entry, clock_->now() + ttl);
      return {};
    }
    if (entry.phase != Phase::kHeld) {
      return fail(Errc::kConflict, "pod " + holding.pod_uid + " holds a place already");
    }
  }
  return book(std::move(holding), Phase::kAssumed, ttl);
}

Result<void> Ledger::book(Holding holding, Phase phase, std::chrono::milliseconds ttl) {
  assert(ttl > std::chrono::milliseconds{0});
  const NodeState* node = nodes_.find(holding.node);
  if (node == nullptr || !node->present) {
    return fail(Errc::kNotFound, "node " + holding.node + " is not known");
  }
  const auto held = entries_.find(holding.pod_uid);
  const bool held_here = held != entries_.end() && held->second.holding->node == holding.node;
  const auto refusing = held_here
                            ? first_refusing_card(without_pods(*node, {holding.pod_uid}), holding)
                            : first_refusing_card(*node, holding);
  if (refusing) {
    return fail(Errc::kStale,
                "card " + *refusing + " of node " + holding.node + " has no room any more");
  }
  if (held != entries_.end()) erase(held);
  add({.holding = std::make_shared<const Holding>(std::move(holding)),
       .phase = phase,
       .observed = false,
       .deadline = clock_->now() + ttl,
       .ttl = ttl});
  return {};
}

void Ledger::doubt(std::string_view pod_uid, TimePoint until) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase != Phase::kAssumed) return;
  set_phase(found->second, Phase::kUnsure);
  set_deadline(found->second, until);
}

void Ledger::hurry(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase != Phase::kUnsure) return;
  set_deadline(found->second, clock_->now());
}

Result<void> Ledger::confirm(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase == Phase::kHeld) {
    return fail(Errc::kNotFound, "pod " + std::string(pod_uid) + " is not booked any more");
  }
  set_phase(found->second, Phase::kConfirmed);
  return {};
}

void Ledger::observe(HoldingPtr holding) {
  const auto found = entries_.find(holding->pod_uid);
  if (found != entries_.end()) {
    if (*found->second.holding == *holding) {
      set_phase(found->second, Phase::kConfirmed);
      found->second.observed = true;
      return;
    }
    erase(found);
  }
  add({.holding = std::move(holding), .phase = Phase::kConfirmed, .observed = true});
}

bool Ledger::release(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end()) return false;
  erase(found);
  return true;
}

bool Ledger::forget(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.observed) return false;
  erase(found);
  return true;
}

std::vector<HoldingPtr> Ledger::retain_observed(
    const std::function<bool(const std::string& uid)>& listed) {
  std::vector<HoldingPtr> ended;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!listed(entry->first)) {
      if (entry->second.observed) {
        ended.push_back(entry->second.holding);
        erase(entry);
      } else if (entry->second.phase == Phase::kConfirmed) {
        set_deadline(entry->second, clock_->now());
      }
    }
    entry = next;
  }
  std::sort(ended.begin(), ended.end(),
            [](const HoldingPtr& a, const HoldingPtr& b) { return a->pod_uid < b->pod_uid; });
  return ended;
}

std::vector<Ledger::Late> Ledger::overdue(std::size_t most) {
  expire_holds();
  std::vector<Late> late;
  const TimePoint now = clock_->now();
  while (late.size() < most && !deadlines_.empty() && deadlines_.begin()->first <= now) {
    auto node = deadlines_.extract(deadlines_.begin());
    const auto found = entries_.find(node.mapped());
    // The pod may have been released, shown by the watch, or assumed anew since.
    if (found == entries_.end() || found->second.observed) continue;
    Entry& entry = found->second;
    if (entry.deadline != node.key()) continue;
    entry.deadline = now + entry.ttl;
    node.key() = entry.deadline;
    deadlines_.insert(std::move(node));
    late.push_back({entry.holding, entry.phase, entry.deadline});
  }
  return late;
}

bool Ledger::still(const Late& late) const {
  const auto found = entries_.find(late.holding->pod_uid);
  return found != entries_.end() && found->second.holding == late.holding &&
         found->second.phase == late.phase && found->second.deadline == late.deadline &&
         !found->second.observed;
}

void Ledger::expire_holds() {
  const TimePoint now = clock_->now();
  for (auto due = deadlines_.begin(); due != deadlines_.end() && due->first <= now;) {
    const auto found = entries_.find(due->second);
    const bool held = found != entries_.end() && found->second.phase == Phase::kHeld;
    if (held && found->second.deadline == due->first) {
      erase(found);
      due = deadlines_.erase(due);
    } else {
      ++due;
    }
  }
}

const Ledger::Entry* Ledger::find(std::string_view pod_uid) const {
  const auto found = entries_.find(pod_uid);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<HoldingPtr> Ledger::unsettled() const {
  std::vector<HoldingPtr> holdings;
  for (const Uids* list : {&held_, &assumed_}) {
    for (const std::string& uid : *list) holdings.push_back(entries_.find(uid)->second.holding);
  }
  return holdings;
}

Ledger::Uids Ledger::unsure() const {
  Uids uids;
  for (const std::string& uid : assumed_) {
    if (entries_.find(uid)->second.phase == Phase::kUnsure) uids.insert(uid);
  }
  return uids;
}

std::shared_ptr<const ClusterSnapshot> Ledger::snapshot() { return nodes_.publish(); }

void Ledger::add(Entry entry) {
  NodeState node = nodes_.checkout(entry.holding->node);
  insert_holding(node, entry.holding);
  nodes_.put(std::move(node));
  if (!entry.observed) deadlines_.emplace(entry.deadline, entry.holding->pod_uid);
  const std::string uid = entry.holding->pod_uid;
  if (Uids* list = list_of(entry.phase)) list->insert(uid);
  entries_.emplace(uid, std::move(entry));
}

void Ledger::erase(Entries::iterator entry) {
  const Holding& holding = *entry->second.holding;
  NodeState node = nodes_.checkout(holding.node);
  remove_holding(node, holding);
  nodes_.put(std::move(node));
  if (Uids* list = list_of(entry->second.phase)) list->erase(entry->first);
  entries_.erase(entry);
}

void Ledger::set_phase(Entry& entry, Phase phase) {
  const std::string& uid = entry.holding->pod_uid;
  if (Uids* list = list_of(entry.phase)) list->erase(uid);
  entry.phase = phase;
  if (Uids* list = list_of(phase)) list->insert(uid);
}

void Ledger::set_deadline(Entry& entry, TimePoint deadline) {
  entry.deadline = deadline;
  deadlines_.emplace(deadline, entry.holding->pod_uid);
}

Ledger::Uids* Ledger::list_of(Phase phase) {
  switch (phase) {
    case Phase::kHeld:
      return &held_;
    case Phase::kAssumed:
    case Phase::kUnsure:
      return &assumed_;
    case Phase::kConfirmed:
      return nullptr;
  }
  return nullptr;
}

}  // namespace tangram::model
