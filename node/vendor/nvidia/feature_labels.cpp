#include "node/vendor/nvidia/feature_labels.hpp"

#include "base/file.hpp"
#include "base/split.hpp"

#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";
constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kMig = "mig-";
constexpr std::string_view kTimestamp = "nvidia.com/gfd.timestamp";
constexpr std::string_view kUnknown = "unknown";
constexpr std::size_t kMaxValue = 63;  // Kubernetes' limit
constexpr std::size_t kMaxName = 63;   // the same, after the prefix

/// After "nvidia.com/".
constexpr std::array<std::string_view, 16> kOfNode{
    "cuda.driver-version.full",
    "cuda.driver-version.major",
    "cuda.driver-version.minor",
    "cuda.driver-version.revision",
    "cuda.driver.major",
    "cuda.driver.minor",
    "cuda.driver.rev",
    "cuda.runtime-version.full",
    "cuda.runtime-version.major",
    "cuda.runtime-version.minor",
    "cuda.runtime.major",
    "cuda.runtime.minor",
    "gpu.machine",
    "gpu.mode",
    "mig.capable",
    "mig.strategy",
};

/// After the name of a resource, "nvidia.com/gpu" or "nvidia.com/mig-1g.10gb", and a dot.
constexpr std::array<std::string_view, 16> kOfResource{
    "compute.major",   "compute.minor",    "count",           "engines.copy",
    "engines.decoder", "engines.encoder",  "engines.jpeg",    "engines.ofa",
    "family",          "memory",           "multiprocessors", "product",
    "replicas",        "sharing-strategy", "slices.ci",       "slices.gi",
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_label_character(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }
bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

/// 0 if it is too large.
int number_of(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

bool is_label_value(std::string_view value) {
  if (value.empty()) return true;
  return value.size() <= kMaxValue && std::ranges::all_of(value, is_label_character) &&
         is_alphanumeric(value.front()) && is_alphanumeric(value.back());
}

/// Without the characters that labels cannot have, and with dashes for blanks.
std::string sanitised(std::string_view text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept),
                       [](char c) { return is_label_character(c) || c == ' '; });
  std::istringstream words(kept);
  const std::vector<std::string> parts{std::istream_iterator<std::string>(words), {}};
  return boost::algorithm::join(parts, "-");
}

/// By the major and minor compute capability.
std::string_view family_of(int major, int minor) {
  constexpr int kTuringMinor = 5;
  constexpr int kAdaMinor = 9;
  switch (major) {
    case 1:
      return "tesla";
    case 2:
      return "fermi";
    case 3:
      return "kepler";
    case 5:
      return "maxwell";
    case 6:
      return "pascal";
    case 7:
      return minor < kTuringMinor ? "volta" : "turing";
    case 8:
      return minor < kAdaMinor ? "ampere" : "ada-lovelace";
    case 9:
      return "hopper";
    case 10:
    case 12:
      return "blackwell";
    case 13:
      return "rubin";
    default:
      return "undefined";
  }
}

std::string_view strategy_name(SharingFile::Strategy strategy) {
  constexpr std::array<std::string_view, 3> kNames{"none", "time-slicing", "mps"};
  return kNames.at(static_cast<std::size_t>(strategy));
}

/// One resource's labels.
class ResourceLabels {
 public:
  /// @param sharing  null = the resource has no replicas, not even one: its cards are in MIG mode
  ResourceLabels(std::string resource, const SharingFile* sharing, NodeLabels& out)
      : resource_(std::move(resource)), out_(out) {
    if (sharing == nullptr) return;
    const auto found = sharing->replicas.find(resource_);
    replicas_ = found == sharing->replicas.end() ? 1 : found->second;
    renamed_ = sharing->renamed;
    if (replicas_ > 1) strategy_ = sharing->strategy;
  }

  void set(std::string_view name, std::string value) {
    out_.insert_or_assign(resource_ + "." + std::string(name), std::move(value));
  }
  void set(std::string_view name, std::int64_t value) { set(name, std::to_string(value)); }

  void set_base(std::size_t count, const std::string& product) {
    set("product", replicas_ > 1 && !renamed_ ? product + "-SHARED" : product);
    set("count", static_cast<std::int64_t>(count));
    set("replicas", replicas_);
    set("sharing-strategy", std::string(strategy_name(strategy_)));
  }

  void set_size(const CardInstance::Size& size) {
    if (size == CardInstance::Size{}) return;
    set("memory", size.memory.count());
    set("multiprocessors", size.multiprocessors);
    set("slices.gi", size.gpu_slices);
    set("slices.ci", size.compute_slices);
    set("engines.copy", size.copy_engines);
    set("engines.decoder", size.decoders);
    set("engines.encoder", size.encoders);
    set("engines.jpeg", size.jpeg_engines);
    set("engines.ofa", size.ofa_engines);
  }

 private:
  const std::string resource_;
  NodeLabels& out_;
  int replicas_ = 0;
  bool renamed_ = false;
  SharingFile::Strategy strategy_ = SharingFile::Strategy::kNone;
};

void add_versions(const Inventory& inventory, NodeLabels& out) {
  const auto set = [&](std::string_view name, const std::string& value) {
    out.emplace(std::string(kPrefix).append(name), value);
  };
  const auto numbers = [](const std::string& version) {
    std::vector<std::string> parts = split(version, '.');
    if (!std::ranges::all_of(parts, is_number)) parts.clear();
    return parts;
  };
  if (auto parts = numbers(inventory.driver); parts.size() == 2 || parts.size() == 3) {
    const std::string revision = parts.size() == 3 ? parts[2] : "";
    set("cuda.driver-version.full", inventory.driver);
    set("cuda.driver-version.major", parts[0]);
    set("cuda.driver-version.minor", parts[1]);
    set("cuda.driver-version.revision", revision);
    set("cuda.driver.major", parts[0]);
    set("cuda.driver.minor", parts[1]);
    set("cuda.driver.rev", revision);
  }
  if (const auto parts = numbers(inventory.cuda); parts.size() == 2) {
    set("cuda.runtime-version.full", inventory.cuda);
    set("cuda.runtime-version.major", parts[0]);
    set("cuda.runtime-version.minor", parts[1]);
    set("cuda.runtime.major", parts[0]);
    set("cuda.runtime.minor", parts[1]);
  }
}

/// By the PCI classes: display controllers serve graphics, 3D controllers only compute.
std::string_view mode_of(const std::vector<PhysicalCard>& cards, const Machine& machine) {
  constexpr std::uint32_t kDisplay = 0x030000;
  constexpr std::uint32_t k3d = 0x030200;
  std::set<std::uint32_t> classes;
  for (const PhysicalCard& card : cards) {
    const auto found = machine.classes.find(card.pci_bus);
    if (found == machine.classes.end()) return kUnknown;
    classes.insert(found->second);
  }
  if (classes == std::set{kDisplay}) return "graphics";
  return classes == std::set{k3d} ? "compute" : kUnknown;
}

void add_machine(const std::vector<PhysicalCard>& cards, const Machine& machine, NodeLabels& out) {
  const bool capable = std::ranges::any_of(cards, &PhysicalCard::mig_capable);
  out.emplace("nvidia.com/mig.capable", capable ? "true" : "false");
  const std::string type = sanitised(machine.type);
  out.emplace("nvidia.com/gpu.machine", type.empty() ? std::string(kUnknown) : type);
  out.emplace("nvidia.com/gpu.mode", mode_of(cards, machine));
}

/// Of physical cards, whatever the MIG strategy.
void add_cards(const std::vector<PhysicalCard>& cards, const SharingFile& sharing,
               NodeLabels& out) {
  const auto whole = std::ranges::find(cards, false, &PhysicalCard::mig_enabled);
  const PhysicalCard& card = whole == cards.end() ? cards.front() : *whole;
  const auto same = std::ranges::count(cards, card.product, &PhysicalCard::product);
  ResourceLabels labels(std::string(kGpu), card.mig_enabled ? nullptr : &sharing, out);
  labels.set_base(static_cast<std::size_t>(same), sanitised(card.product));
  labels.set("memory", card.memory.count());
  const std::vector<std::string> capability = split(card.compute_capability, '.');
  if (capability.size() != 2 || !std::ranges::all_of(capability, is_number)) return;
  const int major = number_of(capability[0]);
  const int minor = number_of(capability[1]);
  if (major == 0) return;
  labels.set("family", std::string(family_of(major, minor)));
  labels.set("compute.major", major);
  labels.set("compute.minor", minor);
}

struct Profile {
  const PhysicalCard* card = nullptr;  ///< of the first instance
  CardInstance::Size size = {};
  std::size_t count = 0;
};

std::map<std::string, Profile> profiles_of(const std::vector<PhysicalCard>& cards) {
  std::map<std::string, Profile> profiles;
  for (const PhysicalCard& card : cards) {
    for (const CardInstance& instance : card.instances) {
      std::string name = instance.profile;
      std::ranges::replace(name, '+', '.');
      Profile& profile = profiles[name];
      if (profile.count++ == 0) profile = {&card, instance.size, 1};
    }
  }
  return profiles;
}

void add_profile(const std::string& resource, const std::string& name, const Profile& profile,
                 const SharingFile& sharing, NodeLabels& out) {
  ResourceLabels labels(resource, &sharing, out);
  labels.set_base(profile.count, sanitised(profile.card->product) + "-MIG-" + sanitised(name));
  labels.set_size(profile.size);
}

/// All instances of a node count as cards, so they must be alike.
void add_single(const std::vector<PhysicalCard>& cards, const SharingFile& sharing,
                NodeLabels& out) {
  const auto first = std::ranges::find(cards, true, &PhysicalCard::mig_enabled);
  if (first == cards.end()) return;
  const auto profiles = profiles_of(cards);
  const bool divided =
      std::ranges::all_of(cards, [](const PhysicalCard& card) { return !card.instances.empty(); });
  if (divided && profiles.size() == 1) {
    const auto& [name, profile] = *profiles.begin();
    return add_profile(std::string(kGpu), name, profile, sharing, out);
  }
  ResourceLabels labels(std::string(kGpu), nullptr, out);
  labels.set_base(0, sanitised(first->product) + "-MIG-INVALID");
  labels.set("sharing-strategy", "");
  labels.set("memory", 0);
}

void add_instances(const std::vector<PhysicalCard>& cards, const SharingFile& sharing,
                   NodeLabels& out) {
  if (sharing.mig == MigStrategy::kNone) return;
  const bool single = sharing.mig == MigStrategy::kSingle;
  out.emplace("nvidia.com/mig.strategy", single ? "single" : "mixed");
  if (single) return add_single(cards, sharing, out);
  for (const auto& [name, profile] : profiles_of(cards)) {
    add_profile(std::string(kPrefix).append(kMig).append(name), name, profile, sharing, out);
  }
}

bool is_profile(std::string_view text) {
  const auto usual = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.';
  };
  return text.size() > 1 && std::ranges::all_of(text, usual) && is_digit(text.front()) &&
         is_alphanumeric(text.back());
}

}  // namespace

NodeLabels labels_of(const Inventory& inventory, const SharingFile& sharing,
                     const Machine& machine) {
  NodeLabels labels;
  if (inventory.physical.empty()) return labels;
  add_versions(inventory, labels);
  add_machine(inventory.physical, machine, labels);
  add_cards(inventory.physical, sharing, labels);
  add_instances(inventory.physical, sharing, labels);
  // As Node Feature Discovery does. The API server would refuse all of them for one.
  std::erase_if(labels, [](const auto& label) {
    return !is_feature_label(label.first) || !is_label_value(label.second);
  });
  return labels;
}

bool is_feature_label(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.size() > kMaxName) return false;
  if (std::ranges::find(kOfNode, name) != kOfNode.end()) return true;
  return std::ranges::any_of(kOfResource, [&](std::string_view last) {
    if (!name.ends_with(last)) return false;
    std::string_view resource = name.substr(0, name.size() - last.size());
    if (resource == "gpu.") return true;
    if (!resource.starts_with(kMig) || !resource.ends_with('.')) return false;
    resource.remove_prefix(kMig.size());
    resource.remove_suffix(1);
    return is_profile(resource);
  });
}

Machine read_machine(const std::string& host_root, const Inventory& inventory) {
  constexpr int kHexadecimal = 16;
  Machine machine;
  if (auto type = read_file(host_root + "/sys/class/dmi/id/product_name")) {
    machine.type = boost::algorithm::trim_copy(*type);
  }
  for (const PhysicalCard& card : inventory.physical) {
    const auto text = read_file(host_root + "/sys/bus/pci/devices/" + card.pci_bus + "/class");
    std::uint32_t number = 0;
    if (!text || !text->starts_with("0x")) continue;
    const auto read =
        std::from_chars(text->data() + 2, text->data() + text->size(), number, kHexadecimal);
    if (read.ec == std::errc()) machine.classes.emplace(card.pci_bus, number);
  }
  return machine;
}

CardLabels feature_labels(std::function<SharingFile(std::string_view choice)> sharing,
                          std::string host_root) {
  CardLabels labels;
  labels.of_vendors_program = kTimestamp;
  labels.covers = is_feature_label;
  labels.of = [sharing = std::move(sharing), host_root = std::move(host_root)](
                  const Inventory& inventory, std::string_view choice) {
    return labels_of(inventory, sharing(choice), read_machine(host_root, inventory));
  };
  return labels;
}

}  // namespace tangram::node::nvidia
