#pragma once

#include "base/result.hpp"
#include "model/grant.hpp"
#include "node/hook/memory_limiter.hpp"
#include "node/vendor/amd/amd_inventory.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The memory of cards as the kernel's cgroup controller `dmem` names it (Linux 6.14;
/// Documentation/admin-guide/cgroup-v2.rst, "DMEM").
namespace tangram::node::amd {

/// A card's region: "drm/0000:c1:00.0/vram". amdgpu_vram_mgr_init() in amdgpu/amdgpu_vram_mgr.c
/// registers one "vram" for each card, whether it has partitions or not; xe numbers them, so that a
/// number behind it counts as the same name here.
/// @param capacities  the text of dmem.capacity
/// @returns nothing if the kernel has none, or several
[[nodiscard]] std::optional<std::string> region_of(std::string_view capacities,
                                                   std::string_view address);

/// Whether the kernel limits the memory of a card for containers of this node: the controller has
/// its region and is enabled below the root, as runc does it for every container that it makes
/// (libcontainer/cgroups/fs2/create.go).
///
/// Not of a partition: the region is the whole card's, so that one container's use of two
/// partitions would be one sum. The driver itself holds a partition to its part of the memory.
/// @param cgroups  where cgroup v2 is mounted
[[nodiscard]] bool can_limit(const std::string& cgroups, const AmdCard& card);

/// The limits of granted cards by their regions.
/// @returns kUnavailable if a card is not here now, or has no region
[[nodiscard]] Result<hook::Limits> region_limits(const std::string& cgroups, const AmdCards& here,
                                                 const std::vector<model::GrantedCard>& cards);

}  // namespace tangram::node::amd
