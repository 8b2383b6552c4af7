#pragma once

#include "base/result.hpp"
#include "node/vendor/amd/kernel_files.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tangram::node::amd {

/// A card as a device on its PCI bus: a physical one, or a virtual function of SR-IOV. What the
/// kernel's driver amdgpu says of it in /sys/bus/pci/devices/ADDRESS.
struct PciCard {
  std::string address;    ///< "0000:c1:00.0"
  std::string unique_id;  ///< 16 hexadecimal digits; empty = the driver knows none
  std::string product;    ///< "AMD Instinct MI300X OAM"; empty = the card's board does not say
  std::string compute_partition;  ///< "SPX", "CPX"; empty = it has no compute partitions
  std::string memory_partition;   ///< "NPS1"; empty = it has no memory partitions
  std::uint64_t memory_bytes = 0;
  int numa_node = -1;             ///< -1 = unknown
  std::string physical_function;  ///< of a virtual function: the address of its card
  std::string card_node;          ///< of /dev/dri: "card1"; empty = it has none
};

/// The folder of a card's files.
[[nodiscard]] std::string pci_folder(std::string_view address);

/// Is this the name of a device on a PCI bus, "0000:c1:00.0"?
[[nodiscard]] bool is_pci_address(std::string_view name);

/// @returns kNotFound         the card is gone
///          kUnavailable      a file cannot be read now: the card is in a reset
///          kInvalidArgument  a file is not as the driver writes it
[[nodiscard]] Result<PciCard> read_pci_card(const KernelFiles& files, const std::string& address);

/// The driver's id of a card alone, for the parent of a virtual function.
/// @returns as read_pci_card(); empty if it knows none
[[nodiscard]] Result<std::string> read_unique_id(const KernelFiles& files,
                                                 const std::string& address);

}  // namespace tangram::node::amd
