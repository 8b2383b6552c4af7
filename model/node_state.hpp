#pragma once

#include "base/units.hpp"
#include "model/card.hpp"
#include "model/grant.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::model {

/// What a pod requests of its node besides cards, by Kubernetes' rule for pod requests.
struct Footprint {
  MilliCpu cpu;
  Mebibytes memory;
  int slots = 0;  ///< kSlotResource, of all containers
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// All that placing a pod takes into account.
struct PodDemand {
  GpuRequest gpu;
  Footprint footprint;
  friend bool operator==(const PodDemand&, const PodDemand&) = default;
};

using Labels = std::map<std::string, std::string, std::less<>>;

/// What one pod has on one node. A pod without cards takes CPU and memory, too.
struct Allocation {
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  std::string node;
  Footprint footprint;
  int priority = 0;
  Isolation isolation = Isolation::kNone;
  std::vector<ContainerGrant> containers;  ///< empty = no card
  Labels labels = {};        ///< of pods with cards: disruption budgets select by them
  bool tentative = false;    ///< room set aside, not granted: Ledger::reserve()
  bool terminating = false;  ///< has a deletionTimestamp; keeps its allocation until it is gone
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
using AllocationPtr = std::shared_ptr<const Allocation>;

/// What all allocations together take of one card. May exceed the card: grants that another
/// writer made, or a card that shrank, are counted as they are.
struct CardUse {
  Mebibytes memory;
  MilliGpu compute;
  std::array<std::int32_t, kIsolationModes> sharers{};  ///< container grants, by isolation mode

  [[nodiscard]] int sharer_count() const {
    return std::accumulate(sharers.begin(), sharers.end(), 0);
  }
  [[nodiscard]] bool idle() const { return sharer_count() == 0; }
  /// True unless the card has a sharer in another mode.
  [[nodiscard]] bool mode_free_for(Isolation mode) const {
    return sharer_count() == sharers[static_cast<std::size_t>(mode)];
  }
  friend bool operator==(const CardUse&, const CardUse&) = default;
};

/// Never negative, however much is granted.
[[nodiscard]] inline Mebibytes free_memory(const CardTraits& card, const CardUse& use) {
  return std::max(card.memory - use.memory, Mebibytes{});
}
[[nodiscard]] inline MilliGpu free_compute(const CardTraits& card, const CardUse& use) {
  return std::max(card.compute - use.compute, MilliGpu{});
}

/// More is granted of the card than it has.
[[nodiscard]] inline bool over_granted(const CardTraits& card, const CardUse& use) {
  return use.memory > card.memory || use.compute > card.compute;
}

/// Adds (sign = 1) or takes away (sign = -1) one container's part of a card.
inline void charge(CardUse& use, Mebibytes memory, MilliGpu compute, Isolation mode, int sign = 1) {
  use.memory += Mebibytes(sign * memory.count());
  use.compute += MilliGpu(sign * compute.count());
  use.sharers[static_cast<std::size_t>(mode)] += sign;
}

/// What decides whether something fits on a node's cards. Nodes of one make share it, so that a
/// look at thousands of nodes finds it in the processor's cache.
struct MadeCard : CardTraits {
  bool as_before = false;  ///< model and traits of the card before it
  friend bool operator==(const MadeCard&, const MadeCard&) = default;
};
using CardMake = std::vector<MadeCard>;

/// One node of the ledger at one moment. Immutable once published.
struct NodeState {
  std::string name;
  std::uint64_t version = 0;  ///< grows with every change of any node; equal = unchanged
  bool present = false;       ///< false: pods have allocations here but the Node object is gone
  std::shared_ptr<const NodeInventory> inventory;  ///< never null; empty while not present
  std::shared_ptr<const CardMake> make;            ///< never null; of inventory->cards
  std::vector<CardUse> use;                        ///< one per inventory->cards
  Footprint requested;                             ///< of all allocations
  int stray_grants = 0;                    ///< granted cards that the inventory does not list
  std::vector<AllocationPtr> allocations;  ///< by pod UID

  /// Sets inventory and make, and nothing else.
  void equip(NodeInventory what);

  [[nodiscard]] const std::vector<Card>& cards() const { return inventory->cards; }
  /// The same cards; enough to decide what fits.
  [[nodiscard]] const CardMake& traits() const { return *make; }
  /// @returns nothing if the node does not list the card
  [[nodiscard]] std::optional<std::uint32_t> card_index(std::string_view uuid) const;
  [[nodiscard]] MilliCpu free_cpu() const {
    return std::max(inventory->cpu - requested.cpu, MilliCpu{});
  }
  [[nodiscard]] Mebibytes free_memory() const {
    return std::max(inventory->memory - requested.memory, Mebibytes{});
  }
};

/// The same node without some of its pods: for "what if these were evicted".
[[nodiscard]] NodeState without_pods(const NodeState& node,
                                     const std::vector<std::string>& pod_uids);

/// The same node without reservations: what its pods were granted, or are about to be.
[[nodiscard]] NodeState granted_only(const NodeState& node);
/// Does the node have reservations?
[[nodiscard]] bool has_tentative(const NodeState& node);

/// The same node with one more pod on it: for "what if this one had come".
[[nodiscard]] NodeState with_pod(const NodeState& node, const Allocation& allocation);

/// Adds (sign = 1) or takes away (sign = -1) everything an allocation charges to the node.
void apply_allocation(NodeState& node, const Allocation& allocation, int sign);

}  // namespace tangram::model
