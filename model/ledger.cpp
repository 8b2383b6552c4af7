#include "model/ledger.hpp"

#include "model/fit.hpp"
#include "model/resizing.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tangram::model {

namespace {

bool by_uid(const AllocationPtr& allocation, std::string_view uid) {
  return allocation->pod_uid < uid;
}

void insert_allocation(NodeState& node, const AllocationPtr& allocation) {
  const auto position = std::lower_bound(node.allocations.begin(), node.allocations.end(),
                                         allocation->pod_uid, by_uid);
  node.allocations.insert(position, allocation);
  apply_allocation(node, *allocation, 1);
}

void remove_allocation(NodeState& node, const Allocation& allocation) {
  const auto position = std::lower_bound(node.allocations.begin(), node.allocations.end(),
                                         allocation.pod_uid, by_uid);
  apply_allocation(node, allocation, -1);
  node.allocations.erase(position);
  find_least_priority(node);
}

/// Recomputes what all allocations of the node use, for its current inventory.
void recount(NodeState& node) {
  node.use.assign(node.cards().size(), CardUse{});
  node.requested = {};
  node.stray_grants = 0;
  node.least_priority = kNoPriority;
  for (const AllocationPtr& allocation : node.allocations) apply_allocation(node, *allocation, 1);
}

/// The first card of the allocation that cannot take its part, given the parts before it.
std::optional<std::string> first_refusing_card(const NodeState& node,
                                               const Allocation& allocation) {
  std::vector<CardUse> use = node.use;
  for (const ContainerGrant& container : allocation.containers) {
    for (const GrantedCard& granted : container.cards) {
      const auto index = node.card_index(granted.uuid);
      if (!index) return granted.uuid;
      const Card& card = node.cards()[*index];
      const Slice slice = slice_of(granted, card);
      const bool can_isolate = slice.whole || card.isolation.has(allocation.isolation);
      // What the grant promises is what the card had when it was chosen.
      const bool can_limit =
          granted.memory_limits <= in_mode(card.memory_limits, allocation.isolation);
      if (!card.available() || !can_isolate || !can_limit ||
          room_misfit(slice, allocation.isolation, card, use[*index])) {
        return granted.uuid;
      }
      charge(use[*index], slice, allocation.isolation);
    }
  }
  return std::nullopt;
}

Ledger::Entry entry_of(Ledger::Observed&& pod) {
  return {.allocation = std::move(pod.allocation),
          .phase = Phase::kConfirmed,
          .observed = true,
          .is_signed = pod.is_signed,
          .issued_at = std::move(pod.issued_at)};
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

Result<void> Ledger::reserve(Allocation allocation, std::chrono::milliseconds ttl,
                             const Uids& displaced) {
  const auto found = entries_.find(allocation.pod_uid);
  if (found != entries_.end() && found->second.phase != Phase::kReserved) {
    return fail(Errc::kConflict, "pod " + allocation.pod_uid + " has an allocation already");
  }
  allocation.tentative = true;
  return allocate(std::move(allocation), Phase::kReserved, ttl, displaced);
}

void Ledger::release_reservation(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found != entries_.end() && found->second.phase == Phase::kReserved) erase(found);
}

void Ledger::renew_reservation(std::string_view pod_uid, std::chrono::milliseconds ttl) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase != Phase::kReserved) return;
  const auto [begin, end] = deadlines_.equal_range(found->second.deadline);
  const auto old = std::find_if(begin, end, [&](const auto& one) { return one.second == pod_uid; });
  assert(old != end);  // only overdue() moves one, and of no reservation
  deadlines_.erase(old);
  found->second.ttl = ttl;
  set_deadline(found->second, clock_->now() + ttl);
}

Result<void> Ledger::assume(Allocation allocation, std::chrono::milliseconds ttl,
                            const Uids& displaced) {
  const auto found = entries_.find(allocation.pod_uid);
  if (found != entries_.end()) {
    Entry& entry = found->second;
    if (entry.phase == Phase::kUnknown && *entry.allocation == allocation) {
      set_phase(entry, Phase::kAssumed);
      entry.ttl = ttl;
      set_deadline(entry, clock_->now() + ttl);
      return {};
    }
    if (entry.phase != Phase::kReserved) {
      return fail(Errc::kConflict, "pod " + allocation.pod_uid + " has an allocation already");
    }
  }
  return allocate(std::move(allocation), Phase::kAssumed, ttl, displaced);
}

/// Nothing was written for a reservation, so it can end for a more important pod.
bool Ledger::yields(std::string_view pod_uid, const Allocation& to) const {
  const Entry* entry = find(pod_uid);
  return entry != nullptr && entry->phase == Phase::kReserved &&
         entry->allocation->node == to.node && entry->allocation->priority < to.priority;
}

Result<void> Ledger::allocate(Allocation allocation, Phase phase, std::chrono::milliseconds ttl,
                              const Uids& displaced) {
  assert(ttl > std::chrono::milliseconds{0});
  const NodeState* node = nodes_.find(allocation.node);
  if (node == nullptr || !node->present) {
    return fail(Errc::kNotFound, "node " + allocation.node + " is not known");
  }
  std::vector<std::string> leaving(displaced.begin(), displaced.end());
  for (const std::string& uid : leaving) {
    if (!yields(uid, allocation)) return fail(Errc::kStale, "the room of pod " + uid + " is taken");
  }
  const auto earlier = entries_.find(allocation.pod_uid);
  if (earlier != entries_.end() && earlier->second.allocation->node == allocation.node) {
    leaving.push_back(allocation.pod_uid);
  }
  const auto refusing = leaving.empty()
                            ? first_refusing_card(*node, allocation)
                            : first_refusing_card(without_pods(*node, leaving), allocation);
  if (refusing) {
    return fail(Errc::kStale,
                "card " + *refusing + " of node " + allocation.node + " has no room any more");
  }
  if (earlier != entries_.end()) erase(earlier);
  for (const std::string& uid : displaced) erase(entries_.find(uid));
  add({.allocation = std::make_shared<const Allocation>(std::move(allocation)),
       .phase = phase,
       .observed = false,
       .deadline = clock_->now() + ttl,
       .ttl = ttl});
  return {};
}

void Ledger::outcome_unknown(std::string_view pod_uid, TimePoint until) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase != Phase::kAssumed) return;
  set_phase(found->second, Phase::kUnknown);
  set_deadline(found->second, until);
}

void Ledger::expedite(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase != Phase::kUnknown) return;
  set_deadline(found->second, clock_->now());
}

Result<void> Ledger::confirm(std::string_view pod_uid, bool is_signed, std::string issued_at) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || found->second.phase == Phase::kReserved) {
    return fail(Errc::kNotFound, "pod " + std::string(pod_uid) + " has no allocation any more");
  }
  Entry& entry = found->second;
  set_phase(entry, Phase::kConfirmed);
  if (!entry.observed && !issued_at.empty()) {
    entry.is_signed = is_signed;
    entry.issued_at = std::move(issued_at);
  }
  return {};
}

Result<void> Ledger::resize(Allocation allocation) {
  const auto found = entries_.find(allocation.pod_uid);
  const bool bound = found != entries_.end() && found->second.phase == Phase::kConfirmed &&
                     found->second.allocation->node == allocation.node;
  if (!bound) return fail(Errc::kNotFound, "pod " + allocation.pod_uid + " is not bound there");
  Entry& entry = found->second;
  if (entry.former || entry.allocation->revision >= allocation.revision) {
    return fail(Errc::kConflict, "a resize of pod " + allocation.pod_uid + " is under way");
  }
  const NodeState* node = nodes_.find(allocation.node);
  if (node == nullptr || !node->present) {
    return fail(Errc::kNotFound, "node " + allocation.node + " is not known");
  }
  if (const auto full = card_without_room(*node, allocation)) {
    return fail(Errc::kStale, "card " + *full + " of node " + allocation.node + " has no room");
  }
  AllocationPtr former = entry.allocation;
  replace(found, std::make_shared<const Allocation>(std::move(allocation)));
  entry.former = std::move(former);
  return {};
}

void Ledger::cancel_resize(std::string_view pod_uid) {
  const auto found = entries_.find(pod_uid);
  if (found == entries_.end() || !found->second.former) return;
  replace(found, std::exchange(found->second.former, nullptr));
}

void Ledger::replace(Entries::iterator entry, AllocationPtr allocation) {
  NodeState node = nodes_.checkout(allocation->node);
  remove_allocation(node, *entry->second.allocation);
  insert_allocation(node, allocation);
  nodes_.put(std::move(node));
  entry->second.allocation = std::move(allocation);
}

void Ledger::observe(AllocationPtr allocation, bool is_signed, std::string issued_at) {
  const auto found = entries_.find(allocation->pod_uid);
  if (found != entries_.end()) {
    const AllocationPtr held = found->second.allocation;
    if (found->second.former && held->node == allocation->node &&
        allocation->revision < held->revision) {
      // From before the write of the revision that is under way.
      Allocation resized = *allocation;
      resized.containers = held->containers;
      resized.revision = held->revision;
      resized.former_refused = held->former_refused;
      resized.max_burst = held->max_burst;
      found->second.former = std::move(allocation);
      if (resized != *held) replace(found, std::make_shared<const Allocation>(std::move(resized)));
      return;
    }
    found->second.former = nullptr;
    if (*found->second.allocation == *allocation) {
      set_phase(found->second, Phase::kConfirmed);
      found->second.observed = true;
      found->second.is_signed = is_signed;
      found->second.issued_at = std::move(issued_at);
      return;
    }
    erase(found);
  }
  add(entry_of({std::move(allocation), is_signed, std::move(issued_at)}));
}

void Ledger::observe_new(std::vector<Observed> pods) {
  if (pods.empty()) return;
  NodeState node = nodes_.checkout(pods.front().allocation->node);
  for (const Observed& pod : pods) {
    assert(pod.allocation->node == node.name);
    insert_allocation(node, pod.allocation);
  }
  nodes_.put(std::move(node));
  for (Observed& pod : pods) record(entry_of(std::move(pod)));
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

std::vector<AllocationPtr> Ledger::retain_observed(
    const std::function<bool(const std::string& uid)>& listed) {
  std::vector<AllocationPtr> ended;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!listed(entry->first)) {
      if (entry->second.observed) {
        ended.push_back(entry->second.allocation);
        erase(entry);
      } else if (entry->second.phase == Phase::kConfirmed) {
        set_deadline(entry->second, clock_->now());
      }
    }
    entry = next;
  }
  std::sort(ended.begin(), ended.end(),
            [](const AllocationPtr& a, const AllocationPtr& b) { return a->pod_uid < b->pod_uid; });
  return ended;
}

std::vector<Ledger::Overdue> Ledger::overdue(std::size_t most) {
  expire_reservations();
  std::vector<Overdue> due;
  const TimePoint now = clock_->now();
  while (due.size() < most && !deadlines_.empty() && deadlines_.begin()->first <= now) {
    auto node = deadlines_.extract(deadlines_.begin());
    const auto found = entries_.find(node.mapped());
    if (!is_deadline_of(found, node.key())) continue;
    Entry& entry = found->second;
    entry.deadline = now + entry.ttl;
    node.key() = entry.deadline;
    deadlines_.insert(std::move(node));
    due.push_back({entry.allocation, entry.phase, entry.deadline});
  }
  return due;
}

bool Ledger::is_unchanged(const Overdue& named) const {
  const auto found = entries_.find(named.allocation->pod_uid);
  return found != entries_.end() && found->second.allocation == named.allocation &&
         found->second.phase == named.phase && found->second.deadline == named.deadline &&
         !found->second.observed;
}

void Ledger::expire_reservations() {
  const TimePoint now = clock_->now();
  for (auto due = deadlines_.begin(); due != deadlines_.end() && due->first <= now;) {
    const auto found = entries_.find(due->second);
    const bool counts = is_deadline_of(found, due->first);
    if (counts && found->second.phase != Phase::kReserved) {
      ++due;
      continue;
    }
    // Those that count no more are dropped: every filter and bind would pass over them again.
    if (counts) erase(found);
    due = deadlines_.erase(due);
  }
}

bool Ledger::is_deadline_of(Entries::const_iterator entry, TimePoint deadline) const {
  return entry != entries_.end() && !entry->second.observed && entry->second.deadline == deadline;
}

const Ledger::Entry* Ledger::find(std::string_view pod_uid) const {
  const auto found = entries_.find(pod_uid);
  return found == entries_.end() ? nullptr : &found->second;
}

std::vector<AllocationPtr> Ledger::unconfirmed() const {
  std::vector<AllocationPtr> allocations;
  for (const Uids* list : {&reserved_, &assumed_}) {
    for (const std::string& uid : *list)
      allocations.push_back(entries_.find(uid)->second.allocation);
  }
  return allocations;
}

std::shared_ptr<const ClusterSnapshot> Ledger::snapshot() { return nodes_.publish(); }

void Ledger::add(Entry entry) {
  NodeState node = nodes_.checkout(entry.allocation->node);
  insert_allocation(node, entry.allocation);
  nodes_.put(std::move(node));
  record(std::move(entry));
}

void Ledger::record(Entry entry) {
  if (!entry.observed) deadlines_.emplace(entry.deadline, entry.allocation->pod_uid);
  const std::string& uid = entry.allocation->pod_uid;  // of the allocation, which stays
  if (Uids* list = list_of(entry.phase)) list->insert(uid);
  [[maybe_unused]] const bool is_new = entries_.emplace(uid, std::move(entry)).second;
  assert(is_new);
}

void Ledger::erase(Entries::iterator entry) {
  const Allocation& allocation = *entry->second.allocation;
  NodeState node = nodes_.checkout(allocation.node);
  remove_allocation(node, allocation);
  nodes_.put(std::move(node));
  if (Uids* list = list_of(entry->second.phase)) list->erase(entry->first);
  entries_.erase(entry);
}

void Ledger::set_phase(Entry& entry, Phase phase) {
  const std::string& uid = entry.allocation->pod_uid;
  if (Uids* list = list_of(entry.phase)) list->erase(uid);
  entry.phase = phase;
  if (Uids* list = list_of(phase)) list->insert(uid);
}

void Ledger::set_deadline(Entry& entry, TimePoint deadline) {
  entry.deadline = deadline;
  deadlines_.emplace(deadline, entry.allocation->pod_uid);
}

Ledger::Uids* Ledger::list_of(Phase phase) {
  switch (phase) {
    case Phase::kReserved:
      return &reserved_;
    case Phase::kAssumed:
    case Phase::kUnknown:
      return &assumed_;
    case Phase::kConfirmed:
      return nullptr;
  }
  return nullptr;
}

}  // namespace tangram::model
