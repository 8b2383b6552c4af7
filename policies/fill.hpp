#pragma once

#include "model/node_state.hpp"
#include "model/placement.hpp"

#include <cstdint>

namespace tangram::policies {

/// Shares of something are counted in millionths, so that nodes of many cards still differ.
inline constexpr std::int64_t kFull = 1'000'000;

/// The larger of the card's memory share and compute share in use; 0..kFull, rounded down.
[[nodiscard]] std::int64_t card_fill(const model::Card& card, const model::CardUse& use);

/// How full the node is once the pod is there; 0..kFull, rounded down. For a pod with GPU
/// request the larger of the memory share and the compute share of all its available cards
/// together; for one without, of the node's CPU and memory.
[[nodiscard]] std::int64_t node_fill_after(const model::PodDemand& demand,
                                           const model::NodeState& node,
                                           const model::Placement& placement);

}  // namespace tangram::policies
