#include "node/vendor/nvidia/offered_means.hpp"

#include "base/number.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"
#include "shim/uuid.hpp"

#include <unistd.h>

#include <algorithm>

namespace tangram::node::nvidia {
namespace {

constexpr int kFirstForLibrary = 535;  // of older ones the stand-ins do not know all functions
constexpr int kFirstForDriver = 615;

/// "550.54.15" is 550. @returns 0 if it is not known
int branch_of(std::string_view driver) {
  return parse_number<int>(driver.substr(0, driver.find('.'))).value_or(0);
}

bool can_read(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

}  // namespace

bool OfferedMeans::can_use_library(const InstalledCard& card, int driver,
                                   const CdiEdits& edits) const {
  const std::vector<std::string> files = stand_in_files(machine_.stand_ins);
  return driver >= kFirstForLibrary && shim::uuid_of(card.card.id) &&
         std::all_of(files.begin(), files.end(), can_read) &&
         with_stand_ins(edits, stand_ins_in(machine_.stand_ins)).has_value();
}

/// The driver limits no MIG instances, and only by cgroup v2.
bool OfferedMeans::can_use_driver(const InstalledCard& card, int driver) const {
  return driver >= kFirstForDriver && card.card.kind == model::CardKind::kPhysical &&
         can_read(machine_.memory_hook) && can_read(machine_.cgroups + "/cgroup.controllers");
}

Result<Inventory> OfferedMeans::inventory() {
  auto inventory = source_->inventory();
  if (!inventory) return inventory;
  const int driver = branch_of(inventory->driver);
  if (driver < kFirstForLibrary) return inventory;
  std::vector<std::string> ids;
  for (const InstalledCard& card : inventory->cards) ids.push_back(card.card.id);
  const auto each = machine_.cdi_edits(ids);
  if (!each) return inventory;
  for (InstalledCard& card : inventory->cards) {
    const auto edits = each->find(card.card.id);
    if (edits == each->end() || edits->second.lists.empty()) continue;
    if (can_use_library(card, driver, edits->second))
      card.memory_means.add(model::MemoryLimits::kLibrary);
    if (can_use_driver(card, driver)) card.memory_means.add(model::MemoryLimits::kDriver);
  }
  return inventory;
}

}  // namespace tangram::node::nvidia
