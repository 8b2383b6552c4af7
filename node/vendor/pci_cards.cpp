#include "node/vendor/pci_cards.hpp"

#include "base/file.hpp"

#include <array>
#include <filesystem>
#include <system_error>

namespace tangram::node {
namespace {

// The base classes of PCI's Code and ID Assignment Specification, by which the kernel's
// include/linux/pci_ids.h goes: display controllers, and processing accelerators.
constexpr std::array<std::string_view, 2> kClasses{"0x03", "0x12"};

bool begins(const std::string& file, std::string_view text) {
  const auto read = read_file(file);
  return read && read->starts_with(text);
}

bool is_card(const std::string& device) {
  for (const std::string_view one : kClasses) {
    if (begins(device + "/class", one)) return true;
  }
  return false;
}

}  // namespace

bool has_pci_card(const std::string& host_root, std::string_view vendor) {
  std::error_code failed;
  std::filesystem::directory_iterator at(host_root + "/sys/bus/pci/devices", failed);
  for (const std::filesystem::directory_iterator end; !failed && at != end; at.increment(failed)) {
    const std::string device = at->path().string();
    if (begins(device + "/vendor", vendor) && is_card(device)) return true;
  }
  return false;
}

}  // namespace tangram::node
