#pragma once

#include "node/container/memory_limiter.hpp"
#include "node/hook/limits_folder.hpp"
#include "node/vendor/nvidia/memory_limits.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// Holds containers to their memory by the driver, r615 or newer: the container runtime starts
/// tangram-memory-hook (node/hook) before the container's first instruction, and that sets the
/// limit of each card on the container's own control group. If it cannot, the container does not
/// start. Nothing inside the container can change the limit, unless it may write control groups.
///
/// The hook reads the limits from FOLDER/ALLOCATION (hook::LimitsFolder), not from its arguments:
/// the runtime may read the CDI spec before a resize, and start the hook after it. The hook writes
/// there which control group it has limited, so that the agent can change the limits of the running
/// container. The folders lie in memory and end with the machine, as control groups do.
class DriverLimiter final : public MemoryLimiter {
 public:
  struct Places {
    std::string hook;       ///< the folder on the host with the program, its loader and libraries
    std::string folder;     ///< of the allocations' folders: the same path on the host
    LimiterPlaces limiter;  ///< for this process
  };
  explicit DriverLimiter(Places places) : places_(std::move(places)) {}

  /// Writes the limits, and adds the hook to `vendor`.
  /// @returns kUnavailable if `vendor` does not name the driver's NVML, which the hook needs, or
  /// the
  ///          folder cannot be written
  Result<ContainerEdits> limit(std::string_view allocation,
                               const std::vector<model::GrantedCard>& cards,
                               CdiEdits& vendor) override;

  /// Where no container runs, the one that starts next gets the limits.
  /// @returns kNotFound     no container was started with this folder, or a card is not in it;
  ///          kUnavailable  the driver does not answer now, or does not take the limit: it may be
  ///                        below what is in use;
  ///          kConflict     the container has made control groups of its own
  Result<void> change(std::string_view allocation,
                      const std::vector<model::GrantedCard>& cards) override;
  /// By the control group's count, which a limit is compared with.
  [[nodiscard]] Result<std::uint64_t> in_use(std::string_view allocation,
                                             std::string_view card) override;
  void keep(const std::set<std::string, std::less<>>& allocations) override;

 private:
  [[nodiscard]] std::string path(std::string_view allocation) const;
  /// Changes limits in an allocation's folder.
  /// @returns those of these cards
  Result<hook::Limits> write(const hook::LimitsFolder& folder,
                             const std::vector<model::GrantedCard>& cards);
  /// @returns nothing if the container does not run
  [[nodiscard]] Result<std::optional<std::string>> cgroup_of(
      const hook::LimitsFolder& folder) const;

  const Places places_;
  std::mutex mutex_;  ///< of the files of limits; not held during calls of the driver
};

/// The files of the hook in the agent's image, for install_on_host(). The program runs on hosts
/// whose libc is older than the image's, so it brings its own; the last three are for NVML, which
/// it loads.
/// @param program  tangram-memory-hook
[[nodiscard]] std::vector<std::string> memory_hook_files(const std::string& program);

}  // namespace tangram::node::nvidia
