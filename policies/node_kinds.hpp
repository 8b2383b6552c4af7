#pragma once

#include "model/snapshot.hpp"
#include "policies/workload.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tangram::policies {

/// What distinguishes nodes where demand for them is concerned. CPU and memory count by their
/// power of two, so that a few reserved cores make no kind of their own; a node of several card
/// models goes by its first card.
struct NodeKind {
  std::string model;
  std::size_t cards = 0;
  std::int64_t card_memory = 0;  ///< MiB
  int cpu_octave = 0;
  int memory_octave = 0;
  friend bool operator==(const NodeKind&, const NodeKind&) = default;
};

/// The power of two that an amount counts as.
[[nodiscard]] inline int octave(std::int64_t amount) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(amount)));
}

[[nodiscard]] NodeKind kind_of(const model::NodeInventory& inventory);
/// As kind_of(inventory) == kind, without making one.
[[nodiscard]] bool is_of_kind(const model::NodeInventory& inventory, const NodeKind& kind);

/// More kinds are not distinguished: their nodes have no price.
inline constexpr std::size_t kMostKinds = 128;

/// How much demand competes for a kind of node.
struct KindPressure {
  NodeKind kind;
  /// Demand that has to go there, for each free card there, in thousandths; 1000 = all of it is
  /// needed by pods that cannot go elsewhere.
  std::int64_t pressure = 0;
  friend bool operator==(const KindPressure&, const KindPressure&) = default;
};

/// Looks which kinds of nodes could take each class of pod when empty: its models, number of cards,
/// memory on each card, CPU. Demand that most of the cluster could take competes for nothing; the
/// rest, as large as it will be until the free cards are full, is spread over the kinds it can
/// use such that the most loaded ones have as little as possible (water-filling).
///
/// @param workload  footprints with memory or without; classes are counts of pods
/// @param nodes     by name, so that equal ledger give equal results
/// @returns in order of the first node of a kind; nothing while no demand is restricted
[[nodiscard]] std::vector<KindPressure> pressures(
    const Workload& workload, const std::vector<const model::NodeState*>& nodes);

}  // namespace tangram::policies
