#pragma once

#include "base/result.hpp"
#include "node/hook/cgroup.hpp"
#include "node/hook/memory_limiter.hpp"

#include <functional>
#include <string>
#include <utility>

namespace tangram::node::hook {

/// What the agent and the hook tell each other of one container, in a folder of two small files:
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

/// The hook's part, at a container's start.
/// @param set  sets limits on the leaf
/// @returns the first error of the folder or of `set`
Result<void> limit_start(const LimitsFolder& folder, const Leaf& leaf,
                         const std::function<Result<void>(const Limits&)>& set);

}  // namespace tangram::node::hook
