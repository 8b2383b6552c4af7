#include "extender/page/packing_changes.hpp"

#include "cluster/packing_json.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tangram::extender {

namespace {

using json::Writer;
using model::Allocation;
using model::ClusterSnapshot;
using model::NodeState;

/// The granted allocations of a node, without reservations. By UID, as the node has them.
std::vector<const Allocation*> granted(const NodeState& node) {
  std::vector<const Allocation*> all;
  for (const model::AllocationPtr& allocation : node.allocations) {
    if (!allocation->tentative) all.push_back(allocation.get());
  }
  return all;
}

/// Allocations of one of the nodes and not of the other: immutable, so an address is enough.
std::vector<const Allocation*> changed_allocations(const NodeState& before, const NodeState& now) {
  auto old = granted(before);
  auto fresh = granted(now);
  std::ranges::sort(old);
  std::ranges::sort(fresh);
  std::vector<const Allocation*> changed;
  std::ranges::set_symmetric_difference(old, fresh, std::back_inserter(changed));
  return changed;
}

std::set<std::uint32_t> cards_of(const NodeState& node,
                                 const std::vector<const Allocation*>& pods) {
  std::set<std::uint32_t> cards;
  for (const Allocation* allocation : pods) {
    for (const auto& container : allocation->containers) {
      for (const auto& granted_card : container.cards) {
        if (const auto index = node.card_index(granted_card.uuid)) cards.insert(*index);
      }
    }
  }
  return cards;
}

}  // namespace

void PackingChanges::catch_up(const ClusterSnapshot& cluster, const cluster::PodTable& pods) {
  reported_.assign(cluster.slots(), nullptr);
  for (model::NodeIndex index = 0; index < reported_.size(); ++index) {
    reported_[index] = cluster.share(index);
  }
  waiting_ = pods.pending();
}

PackingChanges::Reported PackingChanges::reported() const {
  Reported all{.nodes = {}, .waiting = waiting_};
  std::ranges::copy_if(reported_, std::back_inserter(all.nodes),
                       [](const model::NodePtr& node) { return node != nullptr; });
  std::ranges::sort(all.nodes, {},
                    [](const model::NodePtr& node) -> const std::string& { return node->name; });
  return all;
}

void PackingChanges::forget() {
  reported_ = {};
  waiting_ = {};
}

std::string PackingChanges::next(const ClusterSnapshot& cluster, const cluster::PodTable& pods) {
  std::string text;
  Writer out(text);
  changed_ = false;
  gone_.clear();
  out.begin_object().member("version", static_cast<std::int64_t>(cluster.version()));
  write_nodes(out, text, cluster);
  out.key("gone").begin_array();
  for (const std::string& name : gone_) out.string(name);
  out.end_array();
  write_waiting(out, pods);
  out.end_object();
  return changed_ ? text : std::string();
}

void PackingChanges::write_nodes(Writer& out, const std::string& text,
                                 const ClusterSnapshot& cluster) {
  reported_.resize(std::max(reported_.size(), cluster.slots()));
  const auto slots = static_cast<model::NodeIndex>(reported_.size());
  out.key("nodes").begin_array();
  for (model::NodeIndex i = 0; i < slots && text.size() < text_bytes_; ++i) {
    const model::NodeIndex index = (turn_ + i) % slots;
    if (reported_[index].get() == cluster.at(index)) continue;
    write_node(out, index, cluster);
    if (text.size() >= text_bytes_) turn_ = (index + 1) % slots;
  }
  out.end_array();
}

void PackingChanges::write_node(Writer& out, model::NodeIndex index,
                                const ClusterSnapshot& cluster) {
  const model::NodePtr before = std::exchange(reported_[index], cluster.share(index));
  const model::NodePtr& now = reported_[index];
  const bool same_node = before && now && before->name == now->name;
  if (before && !same_node) {
    if (const auto moved = cluster.index_of(before->name)) {
      if (reported_[*moved].get() != cluster.at(*moved)) write_node(out, *moved, cluster);
    } else {
      gone_.push_back(before->name);
      changed_ = true;
    }
  }
  if (!now) return;
  if (!same_node) forget_former(index);
  if (!same_node || before->inventory != now->inventory || before->present != now->present) {
    cluster::write_packed_node(out, granted_only(*now));
    changed_ = true;
    return;
  }
  const auto changed = changed_allocations(*before, *now);
  if (changed.empty()) return;  // only reservations have changed
  const auto cards = cards_of(*now, changed);
  cluster::write_packed_node(out, granted_only(*now),
                             [&cards](std::uint32_t card) { return cards.contains(card); });
  changed_ = true;
}

/// A node that left and came back has another index in the ledger: its former state is void.
void PackingChanges::forget_former(model::NodeIndex index) {
  for (model::NodeIndex other = 0; other < reported_.size(); ++other) {
    if (other == index || !reported_[other] || reported_[other]->name != reported_[index]->name)
      continue;
    reported_[other] = nullptr;
  }
}

void PackingChanges::write_waiting(Writer& out, const cluster::PodTable& pods) {
  constexpr auto kUid = [](const cluster::PodPtr& pod) -> const std::string& { return pod->uid; };
  std::vector<cluster::PodPtr> reported;
  std::size_t added = 0;
  out.key("waiting").begin_array();
  for (const cluster::PodPtr& pod : pods.pending()) {
    if (!std::ranges::binary_search(waiting_, pod->uid, {}, kUid)) {
      if (added == kWaitingPods) continue;
      ++added;
      cluster::write_waiting_pod(out, *pod);
    }
    reported.push_back(pod);
  }
  std::vector<cluster::PodPtr> settled;
  std::ranges::set_difference(waiting_, reported, std::back_inserter(settled), {}, kUid, kUid);
  out.end_array().key("settled").begin_array();
  for (const cluster::PodPtr& pod : settled) out.string(pod->uid);
  out.end_array();
  changed_ = changed_ || added > 0 || !settled.empty();
  waiting_ = std::move(reported);
}

}  // namespace tangram::extender
