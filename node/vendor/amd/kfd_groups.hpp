#pragma once

#include "node/vendor/amd/kernel_files.hpp"
#include "node/vendor/amd/kfd_topology.hpp"

#include <string>
#include <vector>

namespace tangram::node::amd {

/// The KFD nodes of one card: one, or one for each of its compute partitions in their order.
struct KfdGroup {
  std::string address;         ///< of the card on its PCI bus
  std::vector<KfdNode> nodes;  ///< never empty
};

struct KfdGroups {
  std::vector<KfdGroup> groups;       ///< by the numbers of their first nodes
  std::vector<std::string> left_out;  ///< nodes whose card is not certain, with the reason
};

/// Which nodes belong to one card: those whose location_id has the same bus and device. The
/// function in it is no use, because some kernels add the partition's number there, and others put
/// it into the four highest bits (kfd_topology_add_device() in amdkfd/kfd_topology.c).
[[nodiscard]] KfdGroups group_by_card(const KernelFiles& files, std::vector<KfdNode> nodes);

}  // namespace tangram::node::amd
