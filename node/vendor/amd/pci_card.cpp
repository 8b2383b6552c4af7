#include "node/vendor/amd/pci_card.hpp"

#include "base/number.hpp"
#include "base/quote.hpp"

#include <algorithm>
#include <cctype>

namespace tangram::node::amd {
namespace {

constexpr std::size_t kUniqueIdDigits = 16;

/// The text of a file that not every card has; empty where it has none.
Result<std::string> optional_text(const KernelFiles& files, const std::string& path) {
  auto text = files.text(path);
  if (!text && text.error().code == Errc::kNotFound) return std::string();
  return text;
}

/// Reads several files of a card, as far as they are there. The first error ends it.
class Reader {
 public:
  Reader(const KernelFiles& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}

  std::string text(const std::string& name) {
    if (!done_) return {};
    auto read = optional_text(files_, folder_ + "/" + name);
    if (read) return std::move(*read);
    done_ = read.error();
    return {};
  }
  std::uint64_t number(const std::string& name) {
    if (!done_ || !files_.has(folder_ + "/" + name)) return 0;
    const auto read = files_.number(folder_ + "/" + name);
    if (read) return *read;
    done_ = read.error();
    return 0;
  }
  [[nodiscard]] const Result<void>& done() const { return done_; }

 private:
  const KernelFiles& files_;
  const std::string folder_;
  Result<void> done_;
};

/// "-1" where the machine's firmware does not say it.
int numa_node_of(const std::string& text) { return parse_number<int>(text).value_or(-1); }

std::string card_node_in(const KernelFiles& files, const std::string& folder) {
  for (const std::string& name : files.names_in(folder + "/drm")) {
    if (name.starts_with("card")) return name;
  }
  return {};
}

bool is_unique_id(std::string_view text) {
  return text.size() == kUniqueIdDigits && std::ranges::all_of(text, [](unsigned char c) {
           return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string pci_folder(std::string_view address) {
  return "/sys/bus/pci/devices/" + std::string(address);
}

bool is_pci_address(std::string_view name) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (name.size() < kForm.size()) return false;
  // Domains of virtual machines may have more digits.
  const std::size_t more = name.size() - kForm.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char form = i < more ? 'x' : kForm.at(i - more);
    const bool digit = std::isxdigit(static_cast<unsigned char>(name[i])) != 0;
    if (form == 'x' ? !digit : name[i] != form) return false;
  }
  return true;
}

Result<std::string> read_unique_id(const KernelFiles& files, const std::string& address) {
  const std::string file = pci_folder(address) + "/unique_id";
  auto text = optional_text(files, file);
  // The driver writes "%016llx", or nothing at all: amdgpu_get_unique_id() in pm/amdgpu_pm.c.
  if (!text || text->empty() || is_unique_id(*text)) return text;
  return fail(Errc::kInvalidArgument, file + " has no 16 hexadecimal digits but " + quote(*text));
}

Result<PciCard> read_pci_card(const KernelFiles& files, const std::string& address) {
  const std::string folder = pci_folder(address);
  if (!files.has(folder)) return fail(Errc::kNotFound, "there is no PCI device " + address);
  auto unique_id = read_unique_id(files, address);
  if (!unique_id) return unique_id.error();
  Reader read(files, folder);
  PciCard card;
  card.address = address;
  card.unique_id = std::move(*unique_id);
  card.product = read.text("product_name");
  card.compute_partition = read.text("current_compute_partition");
  card.memory_partition = read.text("current_memory_partition");
  card.memory_bytes = read.number("mem_info_vram_total");
  card.numa_node = numa_node_of(read.text("numa_node"));
  card.physical_function = files.target_of(folder + "/physfn");
  card.card_node = card_node_in(files, folder);
  if (!read.done()) return read.done().error();
  return card;
}

}  // namespace tangram::node::amd
