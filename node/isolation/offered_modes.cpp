#include "node/isolation/offered_modes.hpp"

#include <unistd.h>

#include <algorithm>

namespace tangram::node {
namespace {

bool installed(const std::string& program, const std::string& path) {
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin &&
        access((path.substr(begin, end - begin) + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

Means find_means(bool control, const std::string& path) {
  return {.control = control, .mps_daemon = installed("nvidia-cuda-mps-control", path)};
}

model::IsolationSet offered(model::IsolationSet capable, const Means& means) {
  model::IsolationSet offered;
  for (const model::Isolation mode : model::kAllIsolationModes) {
    const bool possible = mode != model::Isolation::kMps || (means.control && means.mps_daemon);
    if (capable.has(mode) && possible) offered.add(mode);
  }
  return offered;
}

Result<Inventory> OfferedModes::inventory() {
  auto inventory = source_->inventory();
  if (!inventory) return inventory;
  const Means means = means_();
  for (InstalledCard& card : inventory->cards) {
    card.card.isolation = offered(card.card.isolation, means);
  }
  return inventory;
}

}  // namespace tangram::node
