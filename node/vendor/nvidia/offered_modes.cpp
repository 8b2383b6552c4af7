#include "node/vendor/nvidia/offered_modes.hpp"

#include "model/compute_chunks.hpp"

#include <unistd.h>

#include <algorithm>
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

namespace {

void divide(model::Card& card, int chunks) {
  if (chunks == 0) {
    card.isolation = card.isolation.without(model::Isolation::kMps);
    return;
  }
  card.compute_chunks = chunks;
  card.max_sharers = std::min(card.max_sharers, model::most_sharers(chunks));
}

}  // namespace

Result<Inventory> OfferedModes::inventory() {
  auto inventory = source_->inventory();
  if (!inventory) return inventory;
  const bool installed = has_mps_();
  for (InstalledCard& card : inventory->cards) {
    model::IsolationSet& modes = card.card.isolation;
    if (!installed) modes = modes.without(model::Isolation::kMps);
    if (chunks_ && modes.has(model::Isolation::kMps)) {
      divide(card.card, chunks_(card.card.id, inventory->driver));
    }
    if (modes.has(model::Isolation::kMps)) card.memory_means.add(model::MemoryLimits::kMps);
  }
  return inventory;
}

}  // namespace tangram::node::nvidia
