#pragma once

#include "node/container/hook_limiter.hpp"
#include "node/vendor/nvidia/memory_limits.hpp"

#include <string>

namespace tangram::node::nvidia {

/// Holds containers to their memory by NVIDIA's driver, r615 or newer. Threads: safe.
class DriverLimiter final : public HookLimiter {
 public:
  struct Places {
    std::string hook;       ///< the folder on the host with the program, its loader and libraries
    std::string folder;     ///< of the allocations' folders: the same path on the host
    LimiterPlaces limiter;  ///< for this process
  };
  /// Its limit() returns kUnavailable if the vendor's edits do not name the driver's NVML, which
  /// the hook needs.
  explicit DriverLimiter(const Places& places);
};

}  // namespace tangram::node::nvidia
