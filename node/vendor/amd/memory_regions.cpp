#include "node/vendor/amd/memory_regions.hpp"

#include "base/file.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"

#include <algorithm>
#include <cctype>

namespace tangram::node::amd {
namespace {

constexpr std::string_view kController = "dmem";

bool is_number(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Empty if the kernel has no such controller.
std::string capacities_in(const std::string& cgroups) {
  auto text = read_file(cgroups + "/dmem.capacity");
  return text ? std::move(*text) : "";
}

bool is_enabled(const std::string& cgroups) {
  auto text = read_file(cgroups + "/cgroup.subtree_control");
  if (!text) return false;
  if (text->ends_with('\n')) text->pop_back();
  const auto controllers = split(*text, ' ');
  return std::ranges::find(controllers, kController) != controllers.end();
}

}  // namespace

std::optional<std::string> region_of(std::string_view capacities, std::string_view address) {
  const std::string name = "drm/" + std::string(address) + "/vram";
  std::optional<std::string> found;
  for (const std::string& line : split(capacities, '\n')) {
    std::string region = line.substr(0, line.find(' '));
    if (!region.starts_with(name) || !is_number(std::string_view(region).substr(name.size()))) {
      continue;
    }
    if (found) return std::nullopt;
    found = std::move(region);
  }
  return found;
}

bool can_limit(const std::string& cgroups, const AmdCard& card) {
  return !card.is_partition && is_enabled(cgroups) &&
         region_of(capacities_in(cgroups), card.installed.card.pci_bus).has_value();
}

Result<hook::Limits> region_limits(const std::string& cgroups, const AmdCards& here,
                                   const std::vector<model::GrantedCard>& cards) {
  const std::string capacities = capacities_in(cgroups);
  hook::Limits limits;
  for (const model::GrantedCard& part : cards) {
    const AmdCard* const card = here.find(part.uuid);
    const bool can_be = card != nullptr && !card->is_partition;
    auto region = can_be ? region_of(capacities, card->installed.card.pci_bus) : std::nullopt;
    if (!region) {
      return fail(Errc::kUnavailable, "the kernel's controller dmem has no memory of card " +
                                          quote_if_needed(part.uuid) + " alone; " + cgroups +
                                          "/dmem.capacity lists what it has");
    }
    limits.dmem.push_back({.card = std::move(*region), .amount = part.memory_limit});
  }
  return limits;
}

}  // namespace tangram::node::amd
