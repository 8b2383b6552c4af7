#include "node/vendor/nvidia/mig_layout.hpp"

namespace tangram::node::nvidia {

void MigLayout::replace(const std::vector<NvmlPhysical>& cards) {
  std::map<std::string, CardPlace, std::less<>> places;
  for (const NvmlPhysical& card : cards) {
    for (const auto& [uuid, gpu_instance, compute_instance] : card.instances) {
      // The driver did not tell.
      if (gpu_instance == nvml::kNoInstance || compute_instance == nvml::kNoInstance) continue;
      places[uuid] = {card.uuid, CardPlace::Instance{gpu_instance, compute_instance}};
    }
  }
  const std::lock_guard lock(mutex_);
  places_ = std::move(places);
}

std::optional<CardPlace> MigLayout::find(std::string_view instance) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(instance);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

}  // namespace tangram::node::nvidia
