#include "node/vendor/amd/kfd_groups.hpp"

#include "node/vendor/amd/pci_card.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tangram::node::amd {
namespace {

// PCI_DEVID() and PCI_DEVFN() in the kernel's include/linux/pci.h and uapi/linux/pci.h.
constexpr std::uint64_t kBusAndDevice = 0xfff8;
constexpr std::uint64_t kFunction = 0x7;
constexpr unsigned kPartitionShift = 28;

/// What the node's render node belongs to: a PCI address, or "amdgpu_xcp_3"; empty = nothing.
std::string device_of(const KernelFiles& files, const KfdNode& node) {
  return files.target_of("/sys/class/drm/renderD" + std::to_string(node.render_minor) + "/device");
}

/// The partition's number as far as the kernel says it; 0 if it says none.
std::uint64_t partition_in(const KfdNode& node) {
  const std::uint64_t high = node.location >> kPartitionShift;
  return high != 0 ? high : node.location & kFunction;
}

/// Are these a card's partitions, the card's own render node first?
/// @param devices  of the nodes
/// @returns the reason if not
std::string problem_of(const std::vector<KfdNode>& nodes, const std::vector<std::string>& devices) {
  if (!is_pci_address(devices.front())) return "the first one is not the card's own";
  const bool at_function_0 = devices.front().ends_with(".0");
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (!devices[i].starts_with("amdgpu_xcp")) {
      return "node " + std::to_string(nodes[i].number) + " has no render node of a partition";
    }
    const std::uint64_t said = at_function_0 ? partition_in(nodes[i]) : 0;
    if (said != 0 && said != i) {
      return "node " + std::to_string(nodes[i].number) + " is partition " + std::to_string(said) +
             " by its location_id, and " + std::to_string(i) + " by its place";
    }
  }
  return {};
}

std::string numbers_of(const std::vector<KfdNode>& nodes) {
  std::string numbers;
  for (const KfdNode& node : nodes) {
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(node.number);
  }
  return numbers;
}

/// Adds the nodes of one bus and device.
void add_nodes(const KernelFiles& files, std::vector<KfdNode> nodes, KfdGroups& to) {
  std::vector<std::string> devices;
  for (const KfdNode& node : nodes) devices.push_back(device_of(files, node));
  // Functions of one device, as virtual functions are.
  if (std::ranges::all_of(devices, is_pci_address)) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      to.groups.push_back({.address = devices[i], .nodes = {std::move(nodes[i])}});
    }
    return;
  }
  const std::string problem = problem_of(nodes, devices);
  if (problem.empty()) {
    to.groups.push_back({.address = devices.front(), .nodes = std::move(nodes)});
    return;
  }
  to.left_out.push_back("KFD nodes " + numbers_of(nodes) +
                        " cannot be told apart as partitions of a card: " + problem);
}

}  // namespace

KfdGroups group_by_card(const KernelFiles& files, std::vector<KfdNode> nodes) {
  using Place = std::pair<std::uint64_t, std::uint64_t>;
  std::map<Place, std::vector<KfdNode>> by_place;
  for (KfdNode& node : nodes) {
    by_place[{node.domain, node.location & kBusAndDevice}].push_back(std::move(node));
  }
  KfdGroups groups;
  for (auto& [place, of_place] : by_place) add_nodes(files, std::move(of_place), groups);
  std::ranges::sort(groups.groups, {},
                    [](const KfdGroup& group) { return group.nodes.front().number; });
  return groups;
}

}  // namespace tangram::node::amd
