#include "node/vendor/nvidia/nvml_inventory.hpp"

#include "base/quote.hpp"
#include "model/card_names.hpp"
#include "model/cards.hpp"
#include "node/vendor/nvidia/nvml_links.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

namespace tangram::node::nvidia {

namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30U;

/// MIG instances have no limit of MPS clients, but each process that shares one needs a few hundred
/// MiB for its context, and the smallest instances have about 5 GiB.
constexpr int kMaxMigSharers = 16;

/// Bounds of the driver's numbers, since each costs some dozen calls. There are at most 7 instances
/// in a card, and 512 cards in a cards annotation.
constexpr unsigned kMaxInstances = 64;
constexpr unsigned kMaxCards = model::kMaxCardsPerNode;

/// Limits of MPS clients are enforced from Volta on.
constexpr int kFirstMpsMajor = 7;

constexpr std::string_view kMigMark = " MIG ";

constexpr std::string_view kUnusableId =
    "its UUID has other characters than letters, digits and - _ . :, as those of MIG instances "
    "have "
    "with drivers before 470; upgrade the driver";

std::string cuda_text(NvmlAsk& ask) {
  int version = 0;
  if (!ask(ask.call().cuda_version, &version)) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The nearest NUMA node; -1 if the driver does not report it, or reports several.
int numa_node_of(NvmlAsk& ask, nvml::Device device) {
  constexpr int kBits = 64;
  std::array<unsigned long, 16> nodes{};  // 1024 of them: Linux allows no more
  if (!ask(ask.call().memory_affinity, device, static_cast<unsigned>(nodes.size()), nodes.data(),
           nvml::kAffinityOfNode)) {
    return -1;
  }
  int found = -1;
  for (std::size_t word = 0; word < nodes.size(); ++word) {
    if (nodes[word] == 0) continue;
    if (found >= 0 || !std::has_single_bit(nodes[word])) return -1;
    found = static_cast<int>(word) * kBits + std::countr_zero(nodes[word]);
  }
  return found;
}

/// The properties that cards and instances have in common. @returns whether pods can use it
bool describe(NvmlAsk& ask, nvml::Device device, const std::string& name, InstalledCard& out) {
  out.card.id = ask.text(ask.call().uuid, device);
  if (out.card.id.empty()) return false;
  if (!model::is_card_id(out.card.id)) {
    spdlog::warn("card {} is left out: {}", quote(out.card.id), kUnusableId);
    return false;
  }
  out.card.model = model::card_model_of(model_of(name));
  NvmlMemory memory;
  if (!read_nvml_memory(ask, device, memory) || out.card.model.empty() ||
      memory.total < memory.reserved || memory.total - memory.reserved < kMebibyte) {
    spdlog::warn("card {} is left out: the driver reports no model or no memory of its own",
                 out.card.id);
    return false;
  }
  out.total = Mebibytes(static_cast<std::int64_t>(memory.total / kMebibyte));
  out.reserved = Mebibytes(static_cast<std::int64_t>(memory.reserved / kMebibyte));
  out.card.memory =
      Mebibytes(static_cast<std::int64_t>((memory.total - memory.reserved) / kMebibyte));
  return true;
}

void read_capability(NvmlAsk& ask, nvml::Device device, InstalledCard& out) {
  int major = 0;
  int minor = 0;
  if (!ask(ask.call().compute_capability, device, &major, &minor)) return;
  out.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  if (major < kFirstMpsMajor) {
    out.card.isolation = {model::Isolation::kTimeSlice, model::Isolation::kNone};
  }
}

std::string profile_of(NvmlAsk& ask, nvml::Device instance, const std::string& name,
                       Mebibytes card_total) {
  const std::size_t mark = name.find(kMigMark);
  if (mark != std::string::npos) return name.substr(mark + kMigMark.size());
  nvml::DeviceAttributes attributes{};
  if (!ask(ask.call().attributes, instance, &attributes)) return {};
  return mig_profile_of(attributes, static_cast<std::uint64_t>(card_total.count()) * kMebibyte);
}

/// All 0 if the driver does not report it.
CardInstance::Size size_of(NvmlAsk& ask, nvml::Device instance) {
  nvml::DeviceAttributes attributes{};
  if (!ask(ask.call().attributes, instance, &attributes)) return {};
  const auto& [copy, decoder, encoder, jpeg, ofa] = attributes.shared_engines;
  return {.memory = Mebibytes(static_cast<std::int64_t>(attributes.memory_mib)),
          .multiprocessors = static_cast<int>(attributes.multiprocessors),
          .gpu_slices = static_cast<int>(attributes.gpu_slices),
          .compute_slices = static_cast<int>(attributes.compute_slices),
          .copy_engines = static_cast<int>(copy),
          .decoders = static_cast<int>(decoder),
          .encoders = static_cast<int>(encoder),
          .jpeg_engines = static_cast<int>(jpeg),
          .ofa_engines = static_cast<int>(ofa)};
}

/// Reads one physical card after the other or, in MIG mode, its instances.
class InventoryReader {
 public:
  InventoryReader(NvmlAsk& ask, NvmlInventory& out) : ask_(ask), out_(out) {}

  void read(unsigned index) {
    nvml::Device device = nullptr;
    InstalledCard card;
    if (!ask_(ask_.call().device_by_index, index, &device)) return;
    const std::string name = ask_.text(ask_.call().name, device);
    if (!describe(ask_, device, name, card)) return;
    card.index = static_cast<int>(index);
    card.card.numa_node = numa_node_of(ask_, device);
    nvml::PciInfo pci{};
    if (ask_(ask_.call().pci_info, device, &pci)) card.card.pci_bus = pci_text(pci);
    read_capability(ask_, device, card);

    NvmlPhysical physical{card.card.id, false, {}};
    unsigned current = 0;
    unsigned pending = 0;
    const bool mig_capable = ask_(ask_.call().mig_mode, device, &current, &pending);
    physical.mig = mig_capable && current != 0;
    out_.inventory.physical.push_back({.product = name,
                                       .pci_bus = card.card.pci_bus,
                                       .memory = card.total,
                                       .compute_capability = card.compute_capability,
                                       .mig_capable = mig_capable,
                                       .mig_enabled = physical.mig});
    if (physical.mig) {
      read_instances(device, card, physical);
    } else {
      ends_.push_back({device, card.card.id, card.card.pci_bus});
      places_.push_back(out_.inventory.cards.size());
      out_.inventory.cards.push_back(std::move(card));
    }
    out_.layout.push_back(std::move(physical));
  }

  /// After all cards were read. Cards in MIG mode have no links: peers cannot reach the instances.
  void read_links() {
    auto links = read_nvml_links(ask_, ends_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      out_.inventory.cards[places_[i]].card.links = std::move(links[i]);
    }
  }

 private:
  void read_instances(nvml::Device device, const InstalledCard& parent, NvmlPhysical& physical) {
    unsigned most = 0;
    if (!ask_(ask_.call().max_mig_devices, device, &most)) return;
    for (unsigned index = 0; index < std::min(most, kMaxInstances); ++index) {
      nvml::Device instance = nullptr;
      // The numbers have gaps, which are not found.
      if (!ask_(ask_.call().mig_device_by_index, device, index, &instance)) continue;
      read_instance(instance, parent, physical);
    }
  }

  void read_instance(nvml::Device instance, const InstalledCard& parent, NvmlPhysical& physical) {
    InstalledCard card;
    if (!describe(ask_, instance, ask_.text(ask_.call().name, instance), card)) return;
    NvmlPhysical::Instance place{card.card.id, nvml::kNoInstance, nvml::kNoInstance};
    ask_(ask_.call().gpu_instance, instance, &place.gpu_instance);
    ask_(ask_.call().compute_instance, instance, &place.compute_instance);
    physical.instances.push_back(place);

    card.mig_profile = profile_of(ask_, instance, card.card.model, parent.total);
    out_.inventory.physical.back().instances.push_back(
        {.profile = card.mig_profile, .size = size_of(ask_, instance)});
    card.card.model =
        model::card_model_of(parent.card.model + std::string(kMigMark) + card.mig_profile);
    card.card.kind = model::CardKind::kMig;
    card.card.replicas.resource = model::CardResource::kMig;
    card.card.parent = parent.card.id;
    card.card.numa_node = parent.card.numa_node;
    card.card.pci_bus = parent.card.pci_bus;
    card.card.isolation = {model::Isolation::kTimeSlice, model::Isolation::kNone};
    card.card.max_sharers = kMaxMigSharers;
    card.index = parent.index;
    card.compute_capability = parent.compute_capability;
    out_.inventory.cards.push_back(std::move(card));
  }

  NvmlAsk& ask_;
  NvmlInventory& out_;
  std::vector<NvmlEnd> ends_;
  std::vector<std::size_t> places_;  ///< of ends_ in the inventory
};

}  // namespace

NvmlInventory read_nvml_inventory(NvmlAsk& ask) {
  NvmlInventory out;
  out.inventory.driver = ask.text(ask.call().driver_version);
  out.inventory.cuda = cuda_text(ask);
  unsigned count = 0;
  ask(ask.call().device_count, &count);
  InventoryReader reader(ask, out);
  for (unsigned index = 0; index < std::min(count, kMaxCards); ++index) reader.read(index);
  reader.read_links();
  return out;
}

bool read_nvml_memory(NvmlAsk& ask, nvml::Device device, NvmlMemory& out) {
  nvml::MemoryV2 memory{};
  memory.version = nvml::MemoryV2::kVersion;
  if (ask(ask.call().memory_v2, device, &memory)) {
    out = {memory.total, memory.reserved, memory.used};
    return true;
  }
  nvml::Memory old{};
  if (!ask(ask.call().memory, device, &old)) return false;
  out = {old.total, 0, old.used};
  return true;
}

std::string model_of(const std::string& name) {
  std::string_view model = name;
  for (const std::string_view brand : {"NVIDIA ", "Tesla "}) {
    if (model.starts_with(brand)) model.remove_prefix(brand.size());
  }
  return std::string(model);
}

std::string mig_profile_of(const nvml::DeviceAttributes& attributes, std::uint64_t card_bytes) {
  if (card_bytes == 0) return {};
  constexpr std::uint64_t kParts = 8;
  const std::uint64_t card_gib = (card_bytes + kGibibyte - 1) / kGibibyte;
  const std::uint64_t eighths =
      (attributes.memory_mib * kMebibyte * kParts + card_bytes - 1) / card_bytes;
  const std::uint64_t gib = (eighths * card_gib + kParts / 2) / kParts;
  std::string profile;
  if (attributes.compute_slices != attributes.gpu_slices) {
    profile = std::to_string(attributes.compute_slices) + "c.";
  }
  return profile + std::to_string(attributes.gpu_slices) + "g." + std::to_string(gib) + "gb";
}

}  // namespace tangram::node::nvidia
