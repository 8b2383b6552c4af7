#pragma once

#include "model/grant.hpp"
#include "node/isolation/enforcer.hpp"

namespace tangram::node {

/// What every container with cards is told, whatever keeps it to its share:
///
///     NVIDIA_VISIBLE_DEVICES       the cards, for NVIDIA's runtime; `void` where the CDI device
///     brings
///                                  the cards itself
///     TANGRAM_CARD_UUIDS           the cards, for the application: "GPU-a,GPU-b"
///     TANGRAM_MEMORY_LIMIT_BYTES   of each of them, in the same order
///     TANGRAM_COMPUTE_LIMIT_MILLI  of each of them, in thousandths of the card
[[nodiscard]] ContainerEdits plain_facts(const model::ContainerGrant& granted, bool brings_cards);

}  // namespace tangram::node
