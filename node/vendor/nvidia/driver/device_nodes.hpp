#pragma once

#include "base/result.hpp"
#include "node/vendor/nvidia/driver/root.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// A card as the driver's files name it: a physical card, or a MIG instance of one.
struct CardPlace {
  struct Instance {
    std::uint32_t gpu = 0;      ///< number of the GPU instance in its card
    std::uint32_t compute = 0;  ///< number of the compute instance in its GPU instance
  };
  std::string physical;  ///< UUID
  std::optional<Instance> instance = std::nullopt;
};

/// The device nodes of these cards and of the driver as a whole, in the host's /dev, each once:
/// "/dev/nvidia0". A MIG instance has that of its card, and of two capabilities,
/// "/dev/nvidia-caps/nvidia-cap12": without them the driver opens none of the card's instances
/// (docs.nvidia.com/datacenter/tesla/mig-user-guide, "Device Nodes and Capabilities").
///
/// A node that is missing is made: a driver container has its nodes in a /dev of its own, and a
/// host has none before a program has used the driver. One with another number is replaced: a
/// driver that is loaded anew may get other numbers.
///
/// @returns kNotFound     the driver shows no such card
///          kUnavailable  or no such instance of it; or a node cannot be made, with what to do
[[nodiscard]] Result<std::vector<std::string>> device_nodes(const Root& host,
                                                            const std::vector<CardPlace>& cards);

}  // namespace tangram::node::nvidia
