#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"
#include "node/vendor/amd/amd_inventory.hpp"
#include "node/vendor/amd/kernel_files.hpp"

#include <string>
#include <vector>

namespace tangram::node::amd {

/// The edits that give a container these cards, as AMD's container toolkit writes them
/// (github.com/ROCm/container-toolkit, internal/cdi/cdi.go and internal/amdgpu/amdgpu.go), one for
/// each card instead of /dev/dri as a whole:
///
///     /dev/kfd             the compute driver, for all cards; it shows a process those whose
///                          render nodes its device cgroup has
///     /dev/dri/renderD128  the card, or the partition
///     /dev/dri/card1       not for a partition: it would be the whole card
///
/// Each with the numbers that the kernel gives it, so that the host's /dev does not matter, and
/// without a right to make others. The libraries of ROCm are in the container's image.
///
/// @returns kUnavailable if a card is not here now, with the reason
[[nodiscard]] Result<CdiEdits> card_edits(const KernelFiles& files, const AmdCards& here,
                                          const std::vector<std::string>& cards);

}  // namespace tangram::node::amd
