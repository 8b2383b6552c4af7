#pragma once

#include "model/node_state.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tangram::model {

/// The use of a card in one word. Two words are equal if and only if the uses are, and 0 is the
/// word of an idle card.
using PackedUse = std::uint64_t;
/// The upper bits of every word that are 0, for who adds something to it.
inline constexpr unsigned kSpareBits = 5;

/// @returns nothing if the use has no place in a word: terabytes of memory, hundreds of sharers, or
///          amounts that no sharer has
[[nodiscard]] std::optional<PackedUse> packed(const CardUse& use);
[[nodiscard]] CardUse unpacked(PackedUse word);

/// What decides how well a pod fits on a node, in two lines of the processor's cache. A walk over
/// thousands of nodes of which no two are alike would otherwise wait for the memory of each one.
struct alignas(64) NodeBrief {
  static constexpr std::size_t kMostCards = 8;

  std::array<PackedUse, kMostCards> use{};  ///< by card
  const CardMake* make = nullptr;   ///< of cards that are all alike; null = there is no brief
  const NodeState* node = nullptr;  ///< for what the brief does not say; a look at it takes time
  MilliGpu idle;                    ///< idle_compute()
  MilliCpu free_cpu;                ///< NodeState::free_cpu()
  MilliCpu cpu;                     ///< NodeInventory::cpu
  Mebibytes memory;                 ///< NodeInventory::memory
};
static_assert(sizeof(NodeBrief) == 128);

/// Refers to the node, which must outlive it. There is none of nodes that are not present,
/// have no cards, more than kMostCards or different ones, or a card whose use does not pack.
[[nodiscard]] NodeBrief brief_of(const NodeState& node);

}  // namespace tangram::model
