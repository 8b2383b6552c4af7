#pragma once

#include "node/vendor/nvidia/driver/device_nodes.hpp"
#include "node/vendor/nvidia/nvml_inventory.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::node::nvidia {

/// Where the MIG instances are, as NVML last listed them: the driver's files know them by numbers
/// only. Threads: safe.
class MigLayout {
 public:
  void replace(const std::vector<NvmlPhysical>& cards);

  /// @returns nothing if the driver has listed no such instance
  [[nodiscard]] std::optional<CardPlace> find(std::string_view instance) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, CardPlace, std::less<>> places_;
};

}  // namespace tangram::node::nvidia
