#include "node/vendor/nvidia/nvml_inventory.hpp"
#include "tests/tools/gpu_check/checks.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace tangram::gpu_check {

namespace {

using namespace std::chrono_literals;
using node::InstalledCard;
using node::Inventory;

constexpr auto kSmiLimit = 60s;  // cards that sleep take long to wake up

struct SmiCard {
  std::string uuid, name, total, pci, capability, driver;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// "00000000:17:00.0" in Linux' form.
std::string linux_pci(std::string smi) {
  std::transform(smi.begin(), smi.end(), smi.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::size_t kLongDomain = 8;
  return smi.find(':') == kLongDomain ? smi.substr(kLongDomain / 2) : smi;
}

Result<std::vector<SmiCard>> ask_smi(node::Programs& programs) {
  const node::Command command{
      {"nvidia-smi", "--query-gpu=uuid,name,memory.total,pci.bus_id,compute_cap,driver_version",
       "--format=csv,noheader,nounits"},
      {},
      {}};
  const auto end = programs.run(command, kSmiLimit);
  if (!end) return end.error();
  if (end->exit_code != 0) return fail(Errc::kUnavailable, describe(command, *end));
  std::vector<SmiCard> cards;
  std::istringstream lines(end->output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    SmiCard card;
    for (std::string* field :
         {&card.uuid, &card.name, &card.total, &card.pci, &card.capability, &card.driver}) {
      std::getline(fields, *field, ',');
      *field = trimmed(*field);
    }
    cards.push_back(card);
  }
  return cards;
}

void compare(const std::string& what, const std::string& ours, const std::string& theirs,
             Report& report) {
  report.expect(ours == theirs, what, ours == theirs ? ours : ours + ", nvidia-smi: " + theirs);
}

void compare_card(const InstalledCard& ours, const SmiCard& theirs, Report& report) {
  const std::string prefix = "inventory, card " + std::to_string(ours.index) + ": ";
  compare(prefix + "model", ours.card.model, node::nvidia::model_of(theirs.name), report);
  compare(prefix + "memory installed, MiB", std::to_string(ours.total.count()), theirs.total,
          report);
  compare(prefix + "PCI address", ours.card.pci_bus, linux_pci(theirs.pci), report);
  compare(prefix + "compute capability", ours.compute_capability, theirs.capability, report);
  report.passed(prefix + "memory for pods",
                to_string(ours.card.memory) + ", the driver's own " + to_string(ours.reserved));
  report.passed(prefix + "NUMA node, links", std::to_string(ours.card.numa_node) + ", " +
                                                 std::to_string(ours.card.links.size()));
}

}  // namespace

void check_inventory(const Inventory& found, node::Programs& programs, Report& report) {
  report.passed("versions", "driver " + found.driver + ", CUDA " + found.cuda);
  const auto smi = ask_smi(programs);
  if (!smi) return report.not_checked("inventory", smi.error().message);
  std::map<std::string, const InstalledCard*> ours;
  std::size_t instances = 0;
  for (const InstalledCard& card : found.cards) {
    ours[card.card.id] = &card;
    if (card.card.kind == model::CardKind::kMig) ++instances;
  }
  for (const SmiCard& theirs : *smi) {
    const auto same = ours.find(theirs.uuid);
    if (same != ours.end()) {
      compare("inventory: driver", found.driver, theirs.driver, report);
      compare_card(*same->second, theirs, report);
    } else {
      const bool has_instances =
          std::any_of(found.cards.begin(), found.cards.end(),
                      [&](const InstalledCard& card) { return card.card.parent == theirs.uuid; });
      report.expect(has_instances, "inventory: " + theirs.uuid,
                    has_instances ? "its MIG instances are listed" : "is not in the inventory");
    }
  }
  report.expect(
      found.cards.size() - instances <= smi->size(), "inventory: number of cards",
      std::to_string(found.cards.size()) + ", of them MIG instances " + std::to_string(instances));
  if (instances > 0) report.not_checked("MIG instances", "nvidia-smi has no table of them");
}

void check_watching(node::CardSource& source, const Inventory& found, Report& report) {
  const auto faults = source.wait_for_faults(200ms);
  report.expect(faults.has_value(), "events can be waited for",
                faults ? std::to_string(faults->size()) + " faults" : faults.error().message);
  for (const InstalledCard& card : found.cards) {
    const auto activity = source.activity(card.card.id);
    report.expect(activity.has_value(), "activity of card " + std::to_string(card.index),
                  activity ? std::to_string(activity->memory_used_bytes >> 20U) + " MiB used by " +
                                 std::to_string(activity->processes.size()) + " processes"
                           : activity.error().message);
  }
}

}  // namespace tangram::gpu_check
