#pragma once

#include "node/hook/memory_limiter.hpp"

#include <string>

namespace tangram::node::hook {

/// Limits of the kernel's controller `dmem` (Linux 6.14 and newer), for drivers that account there,
/// as amdgpu and xe do. A card is named by its region, as in dmem.capacity of the root cgroup:
/// "drm/0000:03:00.0/vram" of amdgpu, "drm/0000:03:00.0/vram0" of xe.
///
/// The controller must be enabled down to the container's cgroup. runc enables every controller
/// that the kernel has. Where the runtime leaves it out, check() fails: the cgroups above are
/// kubelet's and systemd's, so this program does not change them.
class DmemLimiter final : public MemoryLimiter {
 public:
  /// @param root  of cgroup v2
  explicit DmemLimiter(std::string root);

  /// @returns kNotFound     no card has that region
  ///          kUnavailable  the kernel, or a cgroup above, does not have the controller
  [[nodiscard]] Result<void> check(const std::string& cgroup, const std::string& region) override;
  /// @returns kUnavailable with the system's reason
  [[nodiscard]] Result<void> set(const std::string& cgroup, const MemoryLimit& limit) override;
  /// @returns kNotFound if dmem.max cannot be read, or has no such region
  [[nodiscard]] Result<std::uint64_t> read(const std::string& cgroup,
                                           const std::string& region) override;
  /// @returns kNotFound if dmem.current cannot be read, or has no such region
  [[nodiscard]] Result<std::uint64_t> in_use(const std::string& cgroup,
                                             const std::string& region) override;

 private:
  const std::string root_;
};

}  // namespace tangram::node::hook
