#pragma once

#include "model/grant.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <string>
#include <string_view>

namespace tangram::node {

/// Of a container with cards: the name of its CDI device. The name has 64 random bits and is made
/// at Allocate, so neither a pod's manifest nor an image can contain it: a container that has it
/// was created with its device.
inline constexpr std::string_view kAllocationVariable = "TANGRAM_ALLOCATION";

/// The environment of every container with cards, in any isolation mode:
///
///     VendorRuntime::variable      the cards; none where the CDI device itself has the cards'
///                                  devices
///     TANGRAM_ALLOCATION           `allocation`
///     TANGRAM_CARD_UUIDS           the cards, for the application: "GPU-a,GPU-b"
///     TANGRAM_MEMORY_LIMIT_BYTES   of each of them, in the same order
///     TANGRAM_COMPUTE_LIMIT_MILLI  of each of them, in thousandths of the card
[[nodiscard]] ContainerEdits card_environment(std::string_view allocation,
                                              const model::ContainerGrant& granted,
                                              const VendorRuntime& runtime, bool has_devices);

}  // namespace tangram::node
