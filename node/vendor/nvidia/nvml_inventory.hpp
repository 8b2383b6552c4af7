#pragma once

#include "node/cards/card_source.hpp"
#include "node/vendor/nvidia/nvml_ask.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// A physical card as events name it, and its cards: itself, or its MIG instances, perhaps none
/// yet.
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

/// Reads all cards. A card that does not answer is left out; `ask` has the reason.
NvmlInventory read_nvml_inventory(NvmlAsk& ask);

/// Memory in bytes. Before driver 510 `reserved` is 0 and `used` includes it. @returns whether the
/// card has memory of its own
struct NvmlMemory {
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};
bool read_nvml_memory(NvmlAsk& ask, nvml::Device device, NvmlMemory& out);

/// "NVIDIA A100-SXM4-80GB" is the model "A100-SXM4-80GB", "Tesla T4" is "T4": newer drivers omit
/// the second brand for some cards, and patterns of models should not depend on the driver.
std::string model_of(const std::string& name);

/// A MIG profile's name, "1g.10gb" or "1c.2g.20gb", from slices and sizes: for drivers that name
/// instances without it. The memory is the number of eighths of the card, rounded up, times an
/// eighth of the card's size in GiB, rounded up, too.
std::string mig_profile_of(const nvml::DeviceAttributes& attributes, std::uint64_t card_bytes);

}  // namespace tangram::node::nvidia
