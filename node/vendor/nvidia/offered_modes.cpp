#include "node/vendor/nvidia/offered_modes.hpp"

#include <unistd.h>

#include <sstream>

namespace tangram::node::nvidia {

bool mps_is_installed(const std::string& path) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && access((folder + "/nvidia-cuda-mps-control").c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

Result<Inventory> OfferedModes::inventory() {
  auto inventory = source_->inventory();
  if (!inventory) return inventory;
  const bool installed = mps_is_installed(path_);
  for (InstalledCard& card : inventory->cards) {
    model::IsolationSet& modes = card.card.isolation;
    if (!installed) modes = modes.without(model::Isolation::kMps);
    if (modes.has(model::Isolation::kMps)) card.memory_means.add(model::MemoryLimits::kMps);
  }
  return inventory;
}

}  // namespace tangram::node::nvidia
