#pragma once

#include "model/card.hpp"
#include "node/vendor/nvidia/nvml_ask.hpp"

#include <string>
#include <vector>

namespace tangram::node {

struct NvmlEnd {
  nvml::Device device = nullptr;
  std::string uuid;
  std::string pci;  ///< "0000:17:00.0"
};

/// The links of each of these cards to each other, in their order. NVLinks are counted, those to an
/// NVSwitch for every card that is on one too, as many as both have; "pcie" stands for one PCIe
/// switch or one board.
std::vector<std::vector<model::Link>> read_nvml_links(NvmlAsk& ask,
                                                      const std::vector<NvmlEnd>& cards);

/// The form that Linux uses: "0000:17:00.0".
std::string pci_text(const nvml::PciInfo& info);

}  // namespace tangram::node
