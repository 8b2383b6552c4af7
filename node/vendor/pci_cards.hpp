#pragma once

#include <string>
#include <string_view>

namespace tangram::node {

/// Whether a machine has a graphics card or an accelerator of a vendor on a PCI bus, by the
/// kernel's /sys/bus/pci/devices, which lists devices without a driver, too.
/// @param host_root  the folder in which the host's /sys is
/// @param vendor     as the kernel writes it: "0x1002"
/// @returns false also if that folder cannot be read
[[nodiscard]] bool has_pci_card(const std::string& host_root, std::string_view vendor);

}  // namespace tangram::node
