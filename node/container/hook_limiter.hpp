#pragma once

#include "base/required.hpp"
#include "node/container/memory_limiter.hpp"
#include "node/hook/limits_folder.hpp"

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// How a vendor's cards are limited on a control group: by their driver, or by the kernel.
struct HookedDriver {
  /// What the hook is to limit of granted cards, by the names that it knows them by. Each card is
  /// one limit.
  Required<std::function<Result<hook::Limits>(const std::vector<model::GrantedCard>&)>> limits;
  /// What the hook needs beside them: "--nvml", PATH.
  /// @returns kUnavailable if the vendor's edits do not have it
  Required<std::function<Result<std::vector<std::string>>(const CdiEdits&)>> arguments;
  /// Sets limits on a control group, and reads them back.
  Required<std::function<Result<void>(const std::string& cgroup, const hook::Limits&)>> set;
  /// What a control group has of one card, in bytes.
  Required<std::function<Result<std::uint64_t>(const std::string& cgroup, const hook::Limits&)>>
      in_use;
};

/// Holds containers to their memory on their control groups: the container runtime starts
/// tangram-memory-hook (node/hook) before the container's first instruction, and that sets the
/// limit of each card on the container's own control group. If it cannot, the container does not
/// start. Nothing inside the container can change the limit, unless it may write control groups.
///
/// The hook reads the limits from FOLDER/ALLOCATION (hook::LimitsFolder), not from its arguments:
/// the runtime may read the CDI spec before a resize, and start the hook after it. The hook writes
/// there which control group it has limited, so that the agent can change the limits of the running
/// container. The folders lie in memory and end with the machine, as control groups do.
class HookLimiter : public MemoryLimiter {
 public:
  struct Places {
    std::string hook;     ///< the folder on the host with the program, its loader and libraries
    std::string folder;   ///< of the allocations' folders: the same path on the host
    std::string cgroups;  ///< where cgroup v2 is mounted for this process
  };
  HookLimiter(Places places, HookedDriver driver)
      : places_(std::move(places)), driver_(std::move(driver)) {}

  /// Writes the limits, and adds the hook to `vendor`.
  /// @returns the driver's error; kUnavailable if the folder cannot be written
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
  /// Changes limits in an allocation's folder. @returns those of these cards
  Result<hook::Limits> write(const hook::LimitsFolder& folder,
                             const std::vector<model::GrantedCard>& cards);
  /// @returns nothing if the container does not run
  [[nodiscard]] Result<std::optional<std::string>> cgroup_of(
      const hook::LimitsFolder& folder) const;

  const Places places_;
  const HookedDriver driver_;
  std::mutex mutex_;  ///< of the files of limits; not held during calls of the driver
};

/// The files of the hook in the agent's image, for install_on_host(). The program runs on hosts
/// whose libc is older than the image's, so it brings its own; the last three are for NVML, which
/// it loads.
/// @param program  tangram-memory-hook
[[nodiscard]] std::vector<std::string> memory_hook_files(const std::string& program);

}  // namespace tangram::node
