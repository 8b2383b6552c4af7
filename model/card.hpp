#pragma once

#include "base/units.hpp"
#include "model/isolation.hpp"
#include "model/memory_limits.hpp"
#include "model/replicas.hpp"
#include "model/resizes.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::model {

/// What a card is. The model treats both alike: a MIG instance is a card. So is a part of another
/// vendor's card that the hardware keeps apart: AMD's compute partitions, and virtual functions.
enum class CardKind { kPhysical, kMig };

inline constexpr std::array<std::string_view, 2> kCardKindNames{"physical", "mig"};

[[nodiscard]] constexpr std::string_view to_string(CardKind kind) {
  return kCardKindNames.at(static_cast<std::size_t>(kind));
}
[[nodiscard]] std::optional<CardKind> parse_card_kind(std::string_view text);

/// A direct connection from one card to another of the same node.
struct Link {
  std::string peer;  ///< the other card's id
  std::string type;  ///< "nvlink", "xgmi" or "pcie"
  int count = 1;     ///< parallel links of that type
  friend bool operator==(const Link&, const Link&) = default;
};

/// What of a card decides whether something fits there: small, because it is looked at for every
/// card of every node.
struct CardTraits {
  /// NVIDIA documents 48 MPS clients for a card; the smallest limit of all modes.
  static constexpr int kDefaultMaxSharers = 48;

  Mebibytes memory;  ///< what pods can have: total less the driver's own
  MilliGpu compute =
      kWholeGpu;  ///< 1000 for every card, MIG instances too: a share is of this card
  bool healthy = true;
  bool cordoned = false;  ///< withheld by an operator, or owned by another device plugin
  /// The strongest means that its agent uses; see in_mode().
  MemoryLimits memory_limits = MemoryLimits::kNone;
  IsolationSet isolation = IsolationSet::all();
  int max_sharers = kDefaultMaxSharers;
  /// > 0: shares by MPS get compute in so many equal chunks; see compute_chunks.hpp.
  int compute_chunks = 0;
  Replicas replicas = {};  ///< for pods that count cards

  /// May take new pods. Running ones stay whatever this says.
  [[nodiscard]] bool available() const { return healthy && !cordoned; }
  friend bool operator==(const CardTraits&, const CardTraits&) = default;
};

/// One allocatable device as its node's agent reports it. Never changed by scheduling.
struct Card : CardTraits {
  std::string id;  ///< the vendor's UUID: the only identity that survives reboots and re-seating
  CardKind kind = CardKind::kPhysical;
  std::string model;  ///< "A100-SXM4-80GB"; for a MIG instance its parent's model + profile
  std::string unavailable_reason;  ///< for people; set when not healthy or cordoned
  int numa_node = -1;              ///< -1 = unknown
  std::string pci_bus;             ///< "0000:17:00.0"; empty = unknown
  std::string parent;              ///< of a part: the physical card's id
  std::vector<Link> links;

  friend bool operator==(const Card&, const Card&) = default;
};

/// The same cards, as far as what fits there is concerned.
[[nodiscard]] inline bool same_make(const Card& a, const Card& b) {
  return static_cast<const CardTraits&>(a) == b && a.model == b.model;
}

/// What a node has to give: its cards, and the CPU and memory that pods may request.
struct NodeInventory {
  std::string name;
  std::vector<Card> cards;
  MilliCpu cpu;                ///< status.allocatable, rounded down
  Mebibytes memory;            ///< status.allocatable, rounded down
  int slots = 0;               ///< status.allocatable of kSlotResource; 0 = none, or not known yet
  ResizeAnswers resizes = {};  ///< what its agent says of revised grants
  /// Ids of cards whose pods are to leave, as an operator says. A physical card's means its parts.
  std::vector<std::string> draining = {};
  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

}  // namespace tangram::model
