#pragma once

#include "model/grant.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/kubelet/allocate_response.hpp"

namespace tangram::node {

/// The environment of every container with cards, in any isolation mode:
///
///     VendorRuntime::variable      the cards; none where the CDI device itself has the cards'
///                                  devices
///     TANGRAM_CARD_UUIDS           the cards, for the application: "GPU-a,GPU-b"
///     TANGRAM_MEMORY_LIMIT_BYTES   of each of them, in the same order
///     TANGRAM_COMPUTE_LIMIT_MILLI  of each of them, in thousandths of the card
[[nodiscard]] ContainerEdits card_environment(const model::ContainerGrant& granted,
                                              const VendorRuntime& runtime, bool has_devices);

}  // namespace tangram::node
