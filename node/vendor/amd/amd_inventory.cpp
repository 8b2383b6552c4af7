#include "node/vendor/amd/amd_inventory.hpp"

#include "model/card_names.hpp"
#include "model/cards.hpp"
#include "node/vendor/amd/kfd_groups.hpp"
#include "node/vendor/amd/pci_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace tangram::node::amd {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
/// Each process takes some memory for itself, and the smallest partitions have some GiB.
constexpr int kMaxPartitionSharers = 16;
constexpr std::string_view kWholeMode = "SPX";  // one partition: the whole card
constexpr const char* kDriver = "/sys/module/amdgpu/drivers/pci:amdgpu";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string id_of(const std::string& unique_id, const std::string& address) {
  return "AMD-" + (unique_id.empty() ? address : unique_id);
}

/// "MI300X OAM" of "AMD Instinct MI300X OAM", or the name of its architecture.
std::string model_of(const PciCard& pci, const KfdNode& node) {
  std::string_view name = pci.product;
  for (const std::string_view brand : {"AMD ", "Instinct "}) {
    if (name.starts_with(brand)) name.remove_prefix(brand.size());
  }
  const std::string model = model::card_model_of(name);
  return model.empty() ? gfx_name(node.gfx_version) : model;
}

std::string driver_of(const KernelFiles& files) {
  // Only AMD's own packages of the driver have a version of their own.
  if (const auto version = files.text("/sys/module/amdgpu/version")) return *version;
  const auto kernel = files.text("/proc/sys/kernel/osrelease");
  return kernel ? *kernel : "";
}

/// Reads one card after the other.
class InventoryReader {
 public:
  explicit InventoryReader(const KernelFiles& files) : files_(files) {}

  void read(const KfdGroup& group) {
    addresses_.insert(group.address);
    const auto pci = read_pci_card(files_, group.address);
    if (!pci) return leave_out(group.address, pci.error().message);
    if (!pci->physical_function.empty()) divided_.insert(pci->physical_function);
    const bool has_partitions = group.nodes.size() > 1 || (!pci->compute_partition.empty() &&
                                                           pci->compute_partition != kWholeMode);
    for (std::size_t i = 0; i < group.nodes.size(); ++i) {
      AmdCard card = whole_card(*pci, group.nodes[i]);
      set_memory(memory_of(*pci, group.nodes[i], group.nodes.size()), card);
      if (has_partitions) make_partition(*pci, group.nodes.size(), i, card);
      add(std::move(card), group.nodes[i], pci->address);
    }
  }

  /// After all cards were read.
  AmdCards finish() {
    leave_out_divided();
    leave_out_duplicates();
    for (auto& [card, node] : read_) out_.cards.push_back(card);
    add_links();
    note_without_kfd();
    return std::move(out_);
  }

 private:
  struct Read {
    AmdCard card;
    KfdNode node;
  };

  AmdCard whole_card(const PciCard& pci, const KfdNode& node) {
    AmdCard card;
    model::Card& of_model = card.installed.card;
    of_model.id = id_of(own_id(pci, node), pci.address);
    of_model.model = model_of(pci, node);
    of_model.numa_node = pci.numa_node;
    of_model.pci_bus = pci.address;
    of_model.isolation = {model::Isolation::kTimeSlice, model::Isolation::kNone};
    if (!pci.physical_function.empty()) {
      of_model.kind = model::CardKind::kMig;
      of_model.replicas.resource = model::CardResource::kMig;
      const auto parent = read_unique_id(files_, pci.physical_function);
      of_model.parent = id_of(parent ? *parent : "", pci.physical_function);
    }
    card.installed.index = static_cast<int>(node.number);
    card.installed.compute_capability = gfx_name(node.gfx_version);
    card.gpu_id = node.gpu_id;
    card.render_node = "renderD" + std::to_string(node.render_minor);
    card.card_node = pci.card_node;
    return card;
  }

  /// At most an equal part: a driver may let partitions share all memory, and reports it for each
  /// (amdgpu_amdkfd_xcp_memory_size() in amdgpu/amdgpu_amdkfd.c), but pods on all of them together
  /// have it only once.
  static std::uint64_t memory_of(const PciCard& pci, const KfdNode& node, std::size_t parts) {
    return pci.memory_bytes == 0 ? node.memory_bytes
                                 : std::min(pci.memory_bytes / parts, node.memory_bytes);
  }

  static void set_memory(std::uint64_t bytes, AmdCard& card) {
    card.installed.total = Mebibytes(static_cast<std::int64_t>(bytes / kMebibyte));
    card.installed.card.memory = card.installed.total;
  }

  /// amdkfd has it where amdgpu has no such file; a partition's own may be another.
  static std::string own_id(const PciCard& pci, const KfdNode& node) {
    const bool is_whole = pci.compute_partition.empty() || pci.compute_partition == kWholeMode;
    if (!pci.unique_id.empty() || node.unique_id == 0 || !is_whole) return pci.unique_id;
    return fmt::format("{:016x}", node.unique_id);
  }

  /// Nobody else's render node shows a partition. The card node does: who opens it has no partition
  /// (amdgpu_xcp_open_device() in amdgpu/amdgpu_xcp.c), so no container gets that.
  static void make_partition(const PciCard& pci, std::size_t count, std::size_t index,
                             AmdCard& card) {
    const std::string mode = pci.compute_partition;
    model::Card& of_model = card.installed.card;
    of_model.kind = model::CardKind::kMig;
    of_model.replicas.resource = model::CardResource::kMig;
    of_model.parent = id_of(pci.unique_id, pci.address);
    of_model.id = of_model.parent + "-" +
                  (mode.empty() ? "p" + std::to_string(count) + "." : lower(mode)) +
                  std::to_string(index);
    if (!mode.empty()) of_model.model += " " + mode;
    if (!pci.memory_partition.empty()) of_model.model += " " + pci.memory_partition;
    of_model.model = model::card_model_of(of_model.model);
    of_model.max_sharers = kMaxPartitionSharers;
    card.card_node.clear();
    card.is_partition = true;
  }

  void add(AmdCard card, const KfdNode& node, const std::string& address) {
    if (card.installed.total.count() == 0) {
      return leave_out(address, "the driver reports no memory of its own");
    }
    if (!model::is_card_id(card.installed.card.id)) {
      return leave_out(address, "its id has other characters than letters, digits and - _ . :");
    }
    read_.push_back({std::move(card), node});
  }

  /// A card whose virtual functions are here gives its memory to them.
  void leave_out_divided() {
    std::erase_if(read_, [&](const Read& one) {
      const std::string& address = one.card.installed.card.pci_bus;
      if (!divided_.contains(address)) return false;
      leave_out(address, "its virtual functions are cards of this node");
      return true;
    });
  }

  /// With one id, one card's containers would be taken for another's.
  void leave_out_duplicates() {
    std::map<std::string, int> times;
    for (const Read& one : read_) ++times[one.card.installed.card.id];
    std::erase_if(read_, [&](const Read& one) {
      const model::Card& card = one.card.installed.card;
      if (times.at(card.id) == 1) return false;
      leave_out(card.pci_bus, "another card has the same id, " + card.id);
      return true;
    });
  }

  /// XGMI's, of whole cards: peers of a partition are those of all.
  void add_links() {
    std::map<unsigned, std::string> ids;
    for (const auto& [card, node] : read_) {
      if (!card.is_partition) ids[node.number] = card.installed.card.id;
    }
    for (std::size_t i = 0; i < read_.size(); ++i) {
      if (out_.cards[i].is_partition) continue;
      for (const unsigned peer : read_[i].node.xgmi_peers) {
        const auto found = ids.find(peer);
        if (found == ids.end()) continue;
        out_.cards[i].installed.card.links.push_back(
            {.peer = found->second, .type = "xgmi", .count = 1});
      }
    }
  }

  void note_without_kfd() {
    for (const std::string& name : files_.names_in(kDriver)) {
      if (!is_pci_address(name) || addresses_.contains(name)) continue;
      leave_out(name, "amdkfd has no node for it, so programs of ROCm cannot use it");
    }
  }

  void leave_out(const std::string& address, const std::string& reason) {
    out_.left_out.push_back("the card at " + address + " is left out: " + reason);
  }

  const KernelFiles& files_;
  AmdCards out_;
  std::vector<Read> read_;
  std::set<std::string> addresses_;  ///< of cards with KFD nodes
  std::set<std::string> divided_;    ///< of cards with virtual functions here
};

}  // namespace

const AmdCard* AmdCards::find(std::string_view id) const {
  const auto found = std::ranges::find_if(
      cards, [&](const AmdCard& card) { return card.installed.card.id == id; });
  return found == cards.end() ? nullptr : &*found;
}

Result<AmdCards> read_amd_cards(const KernelFiles& files) {
  auto nodes = read_kfd_nodes(files);
  if (!nodes) return nodes.error();
  KfdGroups groups = group_by_card(files, std::move(*nodes));
  InventoryReader reader(files);
  for (const KfdGroup& group : groups.groups) reader.read(group);
  AmdCards cards = reader.finish();
  cards.driver = driver_of(files);
  cards.left_out.insert(cards.left_out.end(), groups.left_out.begin(), groups.left_out.end());
  return cards;
}

}  // namespace tangram::node::amd
