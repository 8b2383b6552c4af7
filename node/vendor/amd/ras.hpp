#pragma once

#include "node/cards/health.hpp"
#include "node/vendor/amd/amd_inventory.hpp"
#include "node/vendor/amd/kernel_files.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::amd {

/// Uncorrectable errors by the block of the GPU that met them: "umc", the memory controller.
using RasCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// The counts of a card, from /sys/bus/pci/devices/ADDRESS/ras/BLOCK_err_count, "ue: 0" on a line
/// ("AMDGPU RAS sysfs Error Count Interface" in the kernel's amdgpu/amdgpu_ras.c). A block that
/// cannot be asked now ("Query currently inaccessible") is left out.
[[nodiscard]] RasCounts read_ras_counts(const KernelFiles& files, std::string_view address);

/// The driver's number of a block (enum amdgpu_ras_block in amdgpu/amdgpu_ras.h), by which metrics
/// and the log name it; kOtherBlock if it is a newer one.
[[nodiscard]] std::uint64_t ras_block(std::string_view name);
inline constexpr std::uint64_t kOtherBlock = 255;

/// Finds faults: counts of uncorrectable errors that have grown. An error is one of every card that
/// is a partition there: the block is the whole card's. Counts that are there when the agent starts
/// are none: its HealthTracker knows what it had published. Counts that fall were reset with the
/// card. Threads: one at a time.
class RasWatch {
 public:
  [[nodiscard]] std::vector<Fault> look(const KernelFiles& files,
                                        const std::vector<AmdCard>& cards);

 private:
  std::map<std::string, RasCounts> known_;  ///< by PCI address
};

/// An error of the card's memory leaves it unhealthy until it is reset (Fault::Kind::kEcc), as
/// NVIDIA's does. After any other, the driver resets the card by itself
/// (amdgpu_ras_interrupt_fatal_error_handler(), amdgpu_ras_reset_gpu()), so that the card is only
/// unhealthy for a while.
[[nodiscard]] HealthRules ras_rules();

}  // namespace tangram::node::amd
