#pragma once

#include "base/result.hpp"
#include "node/cards/card_source.hpp"
#include "node/vendor/amd/amd_inventory.hpp"
#include "node/vendor/amd/kernel_files.hpp"

namespace tangram::node::amd {

/// The use of a card now.
///
///     memory used    mem_info_vram_used of amdgpu; of a partition, what its processes have
///     utilisation    gpu_busy_percent of amdgpu, which partitions do not have
///     processes      /sys/class/kfd/kfd/proc/PID of amdkfd: those with memory or queues there
///
/// PID is the host's (kfd_create_process_sysfs() in amdkfd/kfd_process.c), and memory that of ROCm:
/// what programs of OpenGL and Vulkan have is only in the card's own sum.
///
/// @returns kUnavailable if the card's files cannot be read: it is in a reset, or gone
[[nodiscard]] Result<CardActivity> read_activity(const KernelFiles& files, const AmdCard& card);

}  // namespace tangram::node::amd
