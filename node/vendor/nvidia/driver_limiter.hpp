#pragma once

#include "node/container/memory_limiter.hpp"

#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// Holds containers to their memory by the driver, r615 or newer: the container runtime starts
/// tangram-memory-hook (node/hook) before the container's first instruction, and that sets the
/// limit of each card on the container's own control group. If it cannot, the container does not
/// start. Nothing inside the container can change the limit, unless it may write control groups.
class DriverLimiter final : public MemoryLimiter {
 public:
  /// @param hook  the folder on the host with the program, its loader and its libraries
  explicit DriverLimiter(std::string hook) : hook_(std::move(hook)) {}

  /// Adds the hook to `vendor`.
  /// @returns kUnavailable if `vendor` does not name the driver's NVML, which the hook needs
  Result<ContainerEdits> limit(std::string_view allocation,
                               const std::vector<model::GrantedCard>& cards,
                               CdiEdits& vendor) override;

 private:
  const std::string hook_;
};

/// The files of the hook in the agent's image, for install_on_host(). The program runs on hosts
/// whose libc is older than the image's, so it brings its own; the last three are for NVML, which
/// it loads.
/// @param program  tangram-memory-hook
[[nodiscard]] std::vector<std::string> memory_hook_files(const std::string& program);

}  // namespace tangram::node::nvidia
