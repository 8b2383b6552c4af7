#pragma once

#include "base/result.hpp"
#include "node/vendor/amd/kernel_files.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

/// What the kernel's compute driver for AMD's cards, amdkfd, says of them:
/// /sys/class/kfd/kfd/topology/nodes, made by drivers/gpu/drm/amd/amdkfd/kfd_topology.c. The
/// runtime of ROCm knows no cards but these.
namespace tangram::node::amd {

inline constexpr const char* kKfdNodes = "/sys/class/kfd/kfd/topology/nodes";

/// A GPU, or a compute partition of one.
struct KfdNode {
  unsigned number = 0;         ///< of its folder; partitions of a GPU have ascending ones
  std::uint64_t gpu_id = 0;    ///< names the node in /sys/class/kfd/kfd/proc
  std::uint64_t location = 0;  ///< location_id: of the GPU on its PCI bus, and of the partition
  std::uint64_t domain = 0;    ///< of that bus
  std::uint64_t unique_id = 0;
  std::uint64_t render_minor = 0;  ///< of its /dev/dri/renderD…
  std::uint64_t gfx_version = 0;   ///< gfx_target_version: 90402
  std::uint64_t memory_bytes = 0;  ///< its own: a partition's part of the GPU's
  std::set<unsigned> xgmi_peers;   ///< numbers of nodes that XGMI connects it with

  friend bool operator==(const KfdNode&, const KfdNode&) = default;
};

/// The nodes that are AMD's GPUs, by their numbers. amdkfd shows a node only to processes whose
/// device cgroup has its render node (kfd_devcgroup_check_permission() in kfd_priv.h), as that of a
/// privileged container has.
/// @returns kUnavailable      there is no amdkfd, or a file of its cannot be read: nodes are added
///                            and removed while one reads
///          kInvalidArgument  a file is not as the kernel writes it
[[nodiscard]] Result<std::vector<KfdNode>> read_kfd_nodes(const KernelFiles& files);

/// "gfx942" of 90402: two decimal digits each for the version's last two parts, which the compiler
/// writes in hexadecimal.
[[nodiscard]] std::string gfx_name(std::uint64_t version);

}  // namespace tangram::node::amd
