#pragma once

#include "base/result.hpp"
#include "node/hook/cgroup.hpp"
#include "node/hook/memory_limiter.hpp"

#include <functional>
#include <string>
#include <utility>

namespace tangram::node::hook {

/// The limits of one container, shared by the agent and the hook in a folder of two small files:
///
///     limits   what the container may take, by the agent: before its start, and at each change
///     leaf     which cgroup the hook limits, by the hook: at each start
///
/// The agent writes the limits first, and then reads the leaf, to set them there. The hook writes
/// the leaf first, and then reads the limits, sets them, and reads them again: if they are others
/// by then, it sets those. So whatever the order, the last limits that the agent wrote are in force
/// when the container's first instruction runs. No lock is needed, and each of the two may be
/// killed at any moment: if the hook is, the runtime does not start the container.
///
/// Each reads back what it sets, and may find the limit that the other has just set instead
/// (kConflict). It reads the limits again then, and sets them again, kMostTries times in all.
///
/// Both files are replaced at once. Threads: safe, but only one at a time may write a file.
class LimitsFolder {
 public:
  /// @param path  the same on the host and in the agent's container
  explicit LimitsFolder(std::string path) : path_(std::move(path)) {}

  /// @returns kNotFound         the agent has not written them
  ///          kInvalidArgument  they are not what put() writes
  [[nodiscard]] Result<Limits> limits() const;
  /// @param limits  of one card at least, and of none twice
  /// @returns kUnavailable if the folder is missing or cannot be written
  Result<void> put(const Limits& limits) const;

  /// @returns kNotFound         the hook has not written it: no container was started
  ///          kInvalidArgument  it is not what put() writes
  [[nodiscard]] Result<Leaf> leaf() const;
  /// @returns kUnavailable if the folder is missing or cannot be written
  Result<void> put(const Leaf& leaf) const;

 private:
  [[nodiscard]] std::string limits_file() const { return path_ + "/limits"; }
  [[nodiscard]] std::string leaf_file() const { return path_ + "/leaf"; }

  std::string path_;
};

/// How often limits are set while others are in force when they are read back. The agent and
/// the hook interfere once or twice; after that another program, or the driver, keeps a limit.
inline constexpr int kMostTries = 3;

/// Sets limits on a leaf, and reads them back.
/// @returns kConflict if others are in force
using SetLimits = std::function<Result<void>(const Limits&)>;

/// The hook's part, at a container's start.
/// @returns the error of the folder or of `set`: the container must not start
Result<void> limit_start(const LimitsFolder& folder, const Leaf& leaf, const SetLimits& set);

/// The agent's part, while the container runs, after it has written the limits.
/// @param wanted  those of the folder's limits that were changed
/// @returns the error of the folder or of `set`;
///          kStale  the folder has other limits by now
Result<void> limit_running(const LimitsFolder& folder, const Limits& wanted, const SetLimits& set);

}  // namespace tangram::node::hook
