#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/kubelet/checkpoint.hpp"

#include <vector>

namespace tangram::node {

/// The slots to publish: for every card as many as it has sharers, and never fewer than kubelet has
/// allocated, because a restarting kubelet kills pods whose slots are missing.
/// @param owners  by kubelet's checkpoint; an error counts as none
[[nodiscard]] int slot_count(const Inventory& inventory, int sharers_per_card,
                             const Result<std::vector<SlotOwner>>& owners);

}  // namespace tangram::node
