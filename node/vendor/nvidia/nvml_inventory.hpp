#pragma once

#include "node/cards/card_source.hpp"
#include "node/vendor/nvidia/nvml_ask.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::node {

/// A physical card as events name it, and what of it is listed as cards: itself, or its MIG
/// instances (none yet, perhaps).
struct NvmlPhysical {
  struct Instance {
    std::string uuid;
    std::uint32_t gpu_instance = nvml::kNoInstance;
    std::uint32_t compute_instance = nvml::kNoInstance;
    friend bool operator==(const Instance&, const Instance&) = default;
  };
  std::string uuid;
  bool mig = false;
  std::vector<Instance> instances;
  friend bool operator==(const NvmlPhysical&, const NvmlPhysical&) = default;
};

struct NvmlInventory {
  Inventory inventory;
  std::vector<NvmlPhysical> layout;
};

/// Walks over all cards. A card that does not answer is left out; see `ask` for the reason.
NvmlInventory read_nvml_inventory(NvmlAsk& ask);

/// Memory in bytes: of drivers without the second form of the call, `reserved` is 0 and `used`
/// holds it. @returns whether the card has memory of its own and said so
struct NvmlMemory {
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};
bool read_nvml_memory(NvmlAsk& ask, nvml::Device device, NvmlMemory& out);

/// "NVIDIA A100-SXM4-80GB" is the model "A100-SXM4-80GB", "Tesla T4" is "T4": newer drivers dropped
/// the second brand for some cards only, and globs on models should not depend on the driver.
std::string model_of(const std::string& name);

/// A MIG profile's name, "1g.10gb" or "1c.2g.20gb", from slices and sizes: for drivers whose name
/// of an instance lacks it. NVIDIA names the memory by the eighths of the card that it takes,
/// rounded up, of the card's size in GiB, rounded up too.
std::string mig_profile_of(const nvml::DeviceAttributes& attributes, std::uint64_t card_bytes);

}  // namespace tangram::node
