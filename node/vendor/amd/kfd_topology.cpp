#include "node/vendor/amd/kfd_topology.hpp"

#include "base/number.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tangram::node::amd {
namespace {

constexpr std::uint64_t kAmd = 0x1002;  // PCI_VENDOR_ID_ATI in include/linux/pci_ids.h

// HSA_MEM_HEAP_TYPE_FB_PUBLIC and _PRIVATE in amdkfd/kfd_topology.h: a GPU's own memory.
constexpr std::uint64_t kFirstOwnHeap = 1;
constexpr std::uint64_t kLastOwnHeap = 2;

constexpr std::uint64_t kXgmi = 11;  // CRAT_IOLINK_TYPE_XGMI in amdkfd/kfd_crat.h

/// Of numbers, ascending.
std::vector<unsigned> numbers_in(const KernelFiles& files, const std::string& folder) {
  std::vector<unsigned> numbers;
  for (const std::string& name : files.names_in(folder)) {
    if (const auto number = parse_number<unsigned>(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// A node that is removed meanwhile is no error of the machine's.
Error unavailable(Error error) {
  if (error.code == Errc::kNotFound) error.code = Errc::kUnavailable;
  return error;
}

Result<std::uint64_t> memory_in(const KernelFiles& files, const std::string& banks) {
  std::uint64_t bytes = 0;
  for (const unsigned bank : numbers_in(files, banks)) {
    const std::string file = banks + "/" + std::to_string(bank) + "/properties";
    const auto properties = files.properties(file);
    if (!properties) return properties.error();
    const auto heap = value_of(*properties, "heap_type", file);
    const auto size = value_of(*properties, "size_in_bytes", file);
    if (!heap) return heap.error();
    if (!size) return size.error();
    if (*heap >= kFirstOwnHeap && *heap <= kLastOwnHeap) bytes += *size;
  }
  return bytes;
}

Result<std::set<unsigned>> xgmi_peers_in(const KernelFiles& files, const std::string& links) {
  std::set<unsigned> peers;
  for (const unsigned link : numbers_in(files, links)) {
    const std::string file = links + "/" + std::to_string(link) + "/properties";
    const auto properties = files.properties(file);
    if (!properties) return properties.error();
    const auto type = value_of(*properties, "type", file);
    const auto peer = value_of(*properties, "node_to", file);
    if (!type) return type.error();
    if (!peer) return peer.error();
    if (*type == kXgmi) peers.insert(static_cast<unsigned>(*peer));
  }
  return peers;
}

/// Older kernels do not write it.
std::uint64_t optional(const Properties& properties, std::string_view name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

Result<KfdNode> node_of(const Properties& properties, const std::string& file) {
  const auto location = value_of(properties, "location_id", file);
  const auto minor = value_of(properties, "drm_render_minor", file);
  if (!location) return location.error();
  if (!minor) return minor.error();
  KfdNode node;
  node.location = *location;
  node.render_minor = *minor;
  node.domain = optional(properties, "domain");
  node.unique_id = optional(properties, "unique_id");
  node.gfx_version = optional(properties, "gfx_target_version");
  return node;
}

/// Adds the node of a folder, unless it is a CPU's, or another vendor's.
Result<void> add_node(const KernelFiles& files, unsigned number, std::vector<KfdNode>& nodes) {
  const std::string folder = std::string(kKfdNodes) + "/" + std::to_string(number);
  const auto gpu_id = files.number(folder + "/gpu_id");
  if (!gpu_id) return gpu_id.error();
  if (*gpu_id == 0) return {};
  const std::string file = folder + "/properties";
  const auto properties = files.properties(file);
  if (!properties) return properties.error();
  const auto vendor = value_of(*properties, "vendor_id", file);
  if (!vendor) return vendor.error();
  if (*vendor != kAmd) return {};
  auto node = node_of(*properties, file);
  if (!node) return node.error();
  const auto memory = memory_in(files, folder + "/mem_banks");
  if (!memory) return memory.error();
  auto peers = xgmi_peers_in(files, folder + "/io_links");
  if (!peers) return peers.error();
  node->number = number;
  node->gpu_id = *gpu_id;
  node->memory_bytes = *memory;
  node->xgmi_peers = std::move(*peers);
  nodes.push_back(std::move(*node));
  return {};
}

}  // namespace

Result<std::vector<KfdNode>> read_kfd_nodes(const KernelFiles& files) {
  if (!files.has(kKfdNodes)) {
    return fail(Errc::kUnavailable, "the AMD driver does not answer: there is no " +
                                        std::string(kKfdNodes) +
                                        "; load the kernel module amdgpu with its part amdkfd");
  }
  std::vector<KfdNode> nodes;
  for (const unsigned number : numbers_in(files, kKfdNodes)) {
    if (auto added = add_node(files, number, nodes); !added) return unavailable(added.error());
  }
  return nodes;
}

std::string gfx_name(std::uint64_t version) {
  constexpr std::uint64_t kPart = 100;
  return fmt::format("gfx{}{:x}{:x}", version / (kPart * kPart), version / kPart % kPart,
                     version % kPart);
}

}  // namespace tangram::node::amd
