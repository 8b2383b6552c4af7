#pragma once

#include "model/card.hpp"
#include "node/vendor/nvidia/nvml_ask.hpp"

#include <string>
#include <vector>

namespace tangram::node::nvidia {

struct NvmlEnd {
  nvml::Device device = nullptr;
  std::string uuid;
  std::string pci;  ///< "0000:17:00.0"
};

/// The links of each of these cards to the others, in their order. Two cards on an NVSwitch have as
/// many NVLinks as the one with fewer. "pcie": both are on one PCIe switch or board.
std::vector<std::vector<model::Link>> read_nvml_links(NvmlAsk& ask,
                                                      const std::vector<NvmlEnd>& cards);

/// In Linux' form: "0000:17:00.0".
std::string pci_text(const nvml::PciInfo& info);

}  // namespace tangram::node::nvidia
