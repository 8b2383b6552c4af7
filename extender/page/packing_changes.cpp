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

/// Of a node: what is granted, not merely held. By UID, as the node has them.
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
  told_.assign(cluster.slots(), nullptr);
  for (model::NodeIndex index = 0; index < told_.size(); ++index) {
    told_[index] = cluster.share(index);
  }
  waiting_ = pods.pending();
}

PackingChanges::Told PackingChanges::told() const {
  Told told{.nodes = {}, .waiting = waiting_};
  std::ranges::copy_if(told_, std::back_inserter(told.nodes),
                       [](const model::NodePtr& node) { return node != nullptr; });
  std::ranges::sort(told.nodes, {},
                    [](const model::NodePtr& node) -> const std::string& { return node->name; });
  return told;
}

void PackingChanges::forget() {
  told_ = {};
  waiting_ = {};
}

std::string PackingChanges::next(const ClusterSnapshot& cluster, const cluster::PodTable& pods) {
  std::string text;
  Writer out(text);
  news_ = false;
  gone_.clear();
  out.begin_object().member("version", static_cast<std::int64_t>(cluster.version()));
  tell_nodes(out, text, cluster);
  out.key("gone").begin_array();
  for (const std::string& name : gone_) out.string(name);
  out.end_array();
  tell_waiting(out, pods);
  out.end_object();
  return news_ ? text : std::string();
}

void PackingChanges::tell_nodes(Writer& out, const std::string& text,
                                const ClusterSnapshot& cluster) {
  told_.resize(std::max(told_.size(), cluster.slots()));
  const auto slots = static_cast<model::NodeIndex>(told_.size());
  out.key("nodes").begin_array();
  for (model::NodeIndex i = 0; i < slots && text.size() < text_bytes_; ++i) {
    const model::NodeIndex index = (turn_ + i) % slots;
    if (told_[index].get() == cluster.at(index)) continue;
    tell_node(out, index, cluster);
    if (text.size() >= text_bytes_) turn_ = (index + 1) % slots;
  }
  out.end_array();
}

void PackingChanges::tell_node(Writer& out, model::NodeIndex index,
                               const ClusterSnapshot& cluster) {
  const model::NodePtr before = std::exchange(told_[index], cluster.share(index));
  const model::NodePtr& now = told_[index];
  const bool same_node = before && now && before->name == now->name;
  if (before && !same_node) {
    if (const auto moved = cluster.index_of(before->name)) {
      if (told_[*moved].get() != cluster.at(*moved)) tell_node(out, *moved, cluster);
    } else {
      gone_.push_back(before->name);
      news_ = true;
    }
  }
  if (!now) return;
  if (!same_node) forget_elsewhere(index);
  if (!same_node || before->inventory != now->inventory || before->present != now->present) {
    cluster::write_packed_node(out, granted_only(*now));
    news_ = true;
    return;
  }
  const auto changed = changed_allocations(*before, *now);
  if (changed.empty()) return;  // what is merely held has changed
  const auto cards = cards_of(*now, changed);
  cluster::write_packed_node(out, granted_only(*now),
                             [&cards](std::uint32_t card) { return cards.contains(card); });
  news_ = true;
}

/// A node that left and came back stands elsewhere in the ledger; what was told of it counts no
/// more.
void PackingChanges::forget_elsewhere(model::NodeIndex index) {
  for (model::NodeIndex other = 0; other < told_.size(); ++other) {
    if (other == index || !told_[other] || told_[other]->name != told_[index]->name) continue;
    told_[other] = nullptr;
  }
}

void PackingChanges::tell_waiting(Writer& out, const cluster::PodTable& pods) {
  constexpr auto kUid = [](const cluster::PodPtr& pod) -> const std::string& { return pod->uid; };
  std::vector<cluster::PodPtr> told;
  std::size_t added = 0;
  out.key("waiting").begin_array();
  for (const cluster::PodPtr& pod : pods.pending()) {
    if (!std::ranges::binary_search(waiting_, pod->uid, {}, kUid)) {
      if (added == kWaitingPods) continue;
      ++added;
      cluster::write_waiting_pod(out, *pod);
    }
    told.push_back(pod);
  }
  std::vector<cluster::PodPtr> settled;
  std::ranges::set_difference(waiting_, told, std::back_inserter(settled), {}, kUid, kUid);
  out.end_array().key("settled").begin_array();
  for (const cluster::PodPtr& pod : settled) out.string(pod->uid);
  out.end_array();
  news_ = news_ || added > 0 || !settled.empty();
  waiting_ = std::move(told);
}

}  // namespace tangram::extender
