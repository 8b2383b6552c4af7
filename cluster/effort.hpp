#pragma once

#include "base/units.hpp"
#include "model/node_state.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// What it takes at least to make room on a node: cheap to work out, so that only the most
/// promising nodes are searched. Pure.
namespace tangram::cluster {

struct Effort {
  std::int64_t pods = 0;  ///< that have to leave, in thousandths
  std::int64_t milli =
      0;  ///< of cards that has to leave, by whichever of compute and memory decides
  friend auto operator<=>(const Effort&, const Effort&) = default;
};

inline constexpr std::int64_t kPod = 1000;  ///< in thousandths

/// The pods on a card, by whether they may leave it.
struct CardLoad {
  model::CardUse fixed;  ///< of those that stay
  /// Thousandths of pods that may leave: one that holds four cards is a quarter of a pod on each.
  std::int64_t movable = 0;
  std::int64_t least_share = kPod;  ///< of these, of any one
  MilliGpu largest_compute;         ///< of any one that may leave
  Mebibytes largest_memory;
};

/// The same of a node.
struct NodeLoad {
  std::vector<CardLoad> cards;  ///< one per card
  // CPU, memory and slots of the pods that may leave.
  model::Footprint movable;
  model::Footprint largest;  ///< each of the three by itself, of any one pod
};

[[nodiscard]] NodeLoad load_of(const model::NodeState& node,
                               const std::function<bool(const model::Allocation&)>& movable);

/// An estimate, from below for a pod with one kind of container. CPU, memory and slots count, too.
/// @returns nothing if the pod does not fit even where all leave that may
[[nodiscard]] std::optional<Effort> least_effort(const model::PodDemand& demand,
                                                 const model::NodeState& node,
                                                 const NodeLoad& load);

}  // namespace tangram::cluster
