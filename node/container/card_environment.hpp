#pragma once

#include "model/grant.hpp"
#include "node/isolation/enforcer.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tangram::node {

/// Of a container with cards: the name of its CDI device, the same at every start.
inline constexpr std::string_view kAllocationVariable = "TANGRAM_ALLOCATION";

/// The container's cards, for the application: "GPU-a,GPU-b".
inline constexpr std::string_view kCardsVariable = "TANGRAM_CARD_UUIDS";

/// The value of a variable in the text of a CDI spec, the last one if there are several; empty = it
/// has none, or is no spec.
[[nodiscard]] std::string variable_in(std::string spec, std::string_view name);

/// What shows that a container was created with its CDI device: 64 random bits, "TANGRAM_START=…",
/// that the agent makes anew before each start and that only the device adds. What a pod learns at
/// one start, and could write into a ConfigMap or an image, shows nothing at the next.
[[nodiscard]] std::string start_mark(std::uint64_t random);
/// The mark in the text of a CDI spec; empty = it has none, or is no spec.
[[nodiscard]] std::string start_mark_in(std::string spec);
/// The same where a variable carries the device's name (NamePath::kEnvironment): that variable. It
/// is known from the first start on, but needs no secret: whoever has it, by whatever way, is given
/// this device by the vendor's runtime.
[[nodiscard]] std::string start_mark(std::string_view allocation, const VendorRuntime& runtime);

/// The environment of every container with cards, in any isolation mode, but for its mark:
///
///     VendorRuntime::variable      the cards; none where the CDI device itself has the cards'
///                                  devices
///     TANGRAM_ALLOCATION           `allocation`
///     TANGRAM_CARD_UUIDS           the cards
///     TANGRAM_MEMORY_LIMIT_BYTES   of each of them, in the same order
///     TANGRAM_COMPUTE_LIMIT_MILLI  of each of them, in thousandths of the card
[[nodiscard]] ContainerEdits card_environment(std::string_view allocation,
                                              const model::ContainerGrant& granted,
                                              const VendorRuntime& runtime, bool has_devices);

}  // namespace tangram::node
