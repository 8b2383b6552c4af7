#include "node/vendor/amd/ras.hpp"

#include "base/number.hpp"
#include "base/split.hpp"
#include "node/vendor/amd/pci_card.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace tangram::node::amd {
namespace {

constexpr std::string_view kCountFile = "_err_count";
constexpr std::string_view kMemory = "umc";

/// ras_block_string[] in amdgpu/amdgpu_ras.c, in the order of the enumeration.
constexpr std::array<std::string_view, 20> kBlocks{
    "umc", "sdma", "gfx", "mmhub", "athub", "pcie_bif", "hdp",  "xgmi_wafl", "df",   "smn",
    "sem", "mp0",  "mp1", "fuse",  "mca",   "vcn",      "jpeg", "ih",        "mpio", "mmsch"};

std::optional<std::uint64_t> uncorrectable_in(const std::string& text) {
  constexpr std::string_view kName = "ue: ";
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(kName)) continue;
    return parse_number<std::uint64_t>(std::string_view(line).substr(kName.size()));
  }
  return std::nullopt;
}

Fault fault_of(const std::string& card, const std::string& block) {
  if (block == kMemory) return {.card = card, .kind = Fault::Kind::kEcc, .code = 0};
  return {.card = card, .kind = Fault::Kind::kDriverError, .code = ras_block(block)};
}

/// The blocks whose counts have grown. Takes over the new counts.
std::vector<std::string> grown(const RasCounts& now, RasCounts& known) {
  std::vector<std::string> blocks;
  for (const auto& [block, count] : now) {
    const auto before = known.find(block);
    if (before != known.end() && count > before->second) blocks.push_back(block);
    known.insert_or_assign(block, count);
  }
  return blocks;
}

}  // namespace

RasCounts read_ras_counts(const KernelFiles& files, std::string_view address) {
  const std::string folder = pci_folder(address) + "/ras";
  RasCounts counts;
  for (const std::string& name : files.names_in(folder)) {
    if (!name.ends_with(kCountFile)) continue;
    const auto text = files.text(folder + "/" + name);
    const auto count = text ? uncorrectable_in(*text) : std::nullopt;
    if (count) counts[name.substr(0, name.size() - kCountFile.size())] = *count;
  }
  return counts;
}

std::uint64_t ras_block(std::string_view name) {
  // It has parts: ras_mca_block_string[] there.
  if (name.starts_with("mca_")) name = "mca";
  const auto* const found = std::find(kBlocks.begin(), kBlocks.end(), name);
  if (found == kBlocks.end()) return kOtherBlock;
  return static_cast<std::uint64_t>(std::distance(kBlocks.begin(), found));
}

std::vector<Fault> RasWatch::look(const KernelFiles& files, const std::vector<AmdCard>& cards) {
  std::map<std::string, std::vector<std::string>> by_address;
  for (const AmdCard& card : cards) {
    by_address[card.installed.card.pci_bus].push_back(card.installed.card.id);
  }
  std::erase_if(known_, [&](const auto& one) { return !by_address.contains(one.first); });
  std::vector<Fault> faults;
  for (const auto& [address, ids] : by_address) {
    for (const std::string& block : grown(read_ras_counts(files, address), known_[address])) {
      spdlog::error("the card at {} has met an uncorrectable error in its block {}", address,
                    block);
      for (const std::string& id : ids) faults.push_back(fault_of(id, block));
    }
  }
  return faults;
}

HealthRules ras_rules() {
  return {.error_name = "uncorrectable error in RAS block",
          .ignored_errors = {},
          .reset_errors = {},
          .reset_reason = "the card reported a fault that only a reset mends; see the agent's log"};
}

}  // namespace tangram::node::amd
