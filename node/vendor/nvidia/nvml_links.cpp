#include "node/vendor/nvidia/nvml_links.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace tangram::node::nvidia {

namespace {

struct NvLinks {
  std::map<std::string, int> to_cards;  ///< by PCI address
  int to_switches = 0;
};

NvLinks read_nvlinks(NvmlAsk& ask, nvml::Device device) {
  NvLinks links;
  for (unsigned link = 0; link < nvml::kMaxNvLinks; ++link) {
    unsigned active = 0;
    if (!ask(ask.call().nvlink_state, device, link, &active)) {
      // "Not supported" is a card without NVLink; beyond the last link it is another error.
      if (ask.last() == nvml::Code::kNotSupported) break;
      continue;
    }
    if (active == 0) continue;
    unsigned type = 0;
    nvml::PciInfo remote{};
    if (ask(ask.call().nvlink_remote_type, device, link, &type) && type == nvml::kRemoteIsSwitch) {
      ++links.to_switches;
    } else if (ask(ask.call().nvlink_remote_pci, device, link, &remote)) {
      ++links.to_cards[pci_text(remote)];
    }
  }
  return links;
}

int count_between(const NvLinks& from, const NvLinks& to, const std::string& to_pci) {
  const auto direct = from.to_cards.find(to_pci);
  const int switched = std::min(from.to_switches, to.to_switches);
  return (direct == from.to_cards.end() ? 0 : direct->second) + switched;
}

}  // namespace

std::vector<std::vector<model::Link>> read_nvml_links(NvmlAsk& ask,
                                                      const std::vector<NvmlEnd>& cards) {
  std::vector<NvLinks> nvlinks;
  nvlinks.reserve(cards.size());
  for (const NvmlEnd& card : cards) nvlinks.push_back(read_nvlinks(ask, card.device));
  std::vector<std::vector<model::Link>> links(cards.size());
  for (std::size_t from = 0; from < cards.size(); ++from) {
    for (std::size_t to = 0; to < cards.size(); ++to) {
      if (from == to) continue;
      const int count = count_between(nvlinks[from], nvlinks[to], cards[to].pci);
      if (count > 0) links[from].push_back({cards[to].uuid, "nvlink", count});
      unsigned level = 0;
      if (ask(ask.call().common_ancestor, cards[from].device, cards[to].device, &level) &&
          level <= nvml::kSingleSwitch) {
        links[from].push_back({cards[to].uuid, "pcie", 1});
      }
    }
  }
  return links;
}

std::string pci_text(const nvml::PciInfo& info) {
  std::array<char, 32> text{};
  // Function 0: NVML has no number of it, since no card has several for compute.
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", info.domain, info.bus & 0xFFU,
                info.device & 0xFFU);
  return text.data();
}

}  // namespace tangram::node::nvidia
