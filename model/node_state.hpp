#pragma once

#include "base/units.hpp"
#include "model/card.hpp"
#include "model/grant.hpp"
#include "model/labels.hpp"
#include "model/request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  int revision = 0;                        ///< of its grant
  bool former_refused = false;             ///< as of its grant
  int max_burst = 0;                       ///< as of its grant
  SharedLabels labels = {};  ///< of pods with cards: disruption budgets select by them
  bool tentative = false;    ///< room set aside, not granted: Ledger::reserve()
  bool terminating = false;  ///< has a deletionTimestamp; keeps its allocation until it is gone
  /// Its grant's signature does not count, and yet the grant does: a container with a slot has run,
  /// and the node's agent has let it, by a grant that counted then. Who has signed it may be known
  /// no more; or its owner has changed it since, so no other pod may be evicted for it.
  bool by_start = false;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};
using AllocationPtr = std::shared_ptr<const Allocation>;

/// What all allocations together take of one card. May exceed the card: grants that another
/// writer made, or a card that shrank, are counted as they are.
struct CardUse {
  Mebibytes memory;
  MilliGpu compute;
  std::array<std::int32_t, kIsolationModes> sharers{};  ///< container grants, by isolation mode
  std::int32_t whole = 0;  ///< of them, those that have the card to themselves

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

/// Does the part take the card, alone? A grant from before that was recorded does if it is as large
/// as the card is now.
[[nodiscard]] inline bool takes_whole(const GrantedCard& part, const CardTraits& card) {
  return part.whole.value_or(part.memory >= card.memory && part.compute >= card.compute);
}
/// What the part takes of the card.
[[nodiscard]] inline Slice slice_of(const GrantedCard& part, const CardTraits& card) {
  return {.memory = part.memory,
          .compute = part.compute,
          .memory_limit = part.memory_limit,
          .compute_limit = part.compute_limit,
          .whole = takes_whole(part, card)};
}

/// What the node's agent says of the pod's revisions; null = nothing.
[[nodiscard]] const ResizeAnswer* answer_of(const NodeInventory& node, std::string_view pod_uid);
/// What the agent says that the container is held to; null = nothing.
[[nodiscard]] const CardAmounts* held_of(const ResizeAnswer* answer, std::string_view container,
                                         std::string_view uuid);
/// Are the pod's containers held to its grant, or to a later one, by the word of the node's agent?
[[nodiscard]] bool is_settled(const NodeInventory& node, const Allocation& allocation);
/// All that a container may have of a card: what its part says, its former amounts while they are
/// not settled, and what the agent says that it is held to. The last is more than the others if an
/// earlier grant was put back on the pod.
[[nodiscard]] CardAmounts most_of(const GrantedCard& part, std::string_view container,
                                  const ResizeAnswer* answer, bool settled);

/// Never negative, however much is granted. Nothing is free beside a container that has the card to
/// itself, even if the card has grown since.
[[nodiscard]] inline Mebibytes free_memory(const CardTraits& card, const CardUse& use) {
  if (use.whole > 0) return {};
  return std::max(card.memory - use.memory, Mebibytes{});
}
[[nodiscard]] inline MilliGpu free_compute(const CardTraits& card, const CardUse& use) {
  if (use.whole > 0) return {};
  return std::max(card.compute - use.compute, MilliGpu{});
}

/// More is granted of the card than it has, or a part of a card that another has to itself.
[[nodiscard]] inline bool over_granted(const CardTraits& card, const CardUse& use) {
  return use.memory > card.memory || use.compute > card.compute ||
         (use.whole > 0 && use.sharer_count() > 1);
}

/// Adds (sign = 1) or takes away (sign = -1) one container's part of a card.
inline void charge(CardUse& use, const Slice& part, Isolation mode, int sign = 1) {
  use.memory += Mebibytes(sign * part.memory.count());
  use.compute += MilliGpu(sign * part.compute.count());
  use.sharers[static_cast<std::size_t>(mode)] += sign;
  if (part.whole) use.whole += sign;
}

/// What decides whether something fits on a node's cards. Nodes of one make share it, so that a
/// look at thousands of nodes finds it in the processor's cache.
struct MadeCard : CardTraits {
  bool as_before = false;  ///< model and traits of the card before it
  std::string model = {};  ///< empty if as_before
  friend bool operator==(const MadeCard&, const MadeCard&) = default;
};
using CardMake = std::vector<MadeCard>;

/// Of a node where no pod has cards: above every other.
inline constexpr int kNoPriority = std::numeric_limits<int>::max();

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
  int least_priority = kNoPriority;        ///< of the pods with cards here, reserved ones too
  std::vector<AllocationPtr> allocations;  ///< by pod UID

  /// Sets inventory and make, and nothing else.
  void equip(NodeInventory what);

  [[nodiscard]] const std::vector<Card>& cards() const { return inventory->cards; }
  /// The same cards; enough to decide what fits.
  [[nodiscard]] const CardMake& traits() const { return *make; }
  /// @returns nothing if the node does not list the card
  [[nodiscard]] std::optional<std::uint32_t> card_index(std::string_view uuid) const;
  /// @returns null if the pod has none here
  [[nodiscard]] const Allocation* find_allocation(std::string_view pod_uid) const;
  [[nodiscard]] MilliCpu free_cpu() const {
    return std::max(inventory->cpu - requested.cpu, MilliCpu{});
  }
  [[nodiscard]] Mebibytes free_memory() const {
    return std::max(inventory->memory - requested.memory, Mebibytes{});
  }
};

/// Do the nodes differ only in names, in which cards exactly they have and how those are linked,
/// and in which pods have what is taken of them? Then a pod that names no card fits both or
/// neither, and equally well; the order of cards counts.
[[nodiscard]] bool look_alike(const NodeState& a, const NodeState& b);
/// The same for nodes that look alike.
[[nodiscard]] std::size_t look_hash(const NodeState& node);

/// Free compute of the node's available cards.
[[nodiscard]] MilliGpu idle_compute(const NodeState& node);

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
/// After pods were taken away, least_priority is to be found anew.
void apply_allocation(NodeState& node, const Allocation& allocation, int sign);
void find_least_priority(NodeState& node);

}  // namespace tangram::model
