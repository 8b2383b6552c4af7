#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// Settings of a pool of nodes: a file of flags in a folder (--pool-settings), which the Node's
/// label names. One DaemonSet then serves pools with different settings.
///
///     sharers-per-card: 8        # a flag without its dashes, and its value
///     memory-limits: library

/// The file of nodes without the label, if there is one.
inline constexpr std::string_view kDefaultPool = "default";

/// Which file applies to a node; nothing = none: the command line alone.
using PoolChoice = std::optional<std::string>;

/// @param label  of the Node, kPoolLabel; empty = not there
/// @returns kInvalidArgument if the label names no file, with those that there are;
///          kUnavailable    the folder cannot be read
Result<PoolChoice> choose_pool(const std::string& folder, const std::string& label);

/// The flags of a file, as arguments: "--sharers-per-card=8".
/// @returns kInvalidArgument, with the file's path, if it is not a map of flags, or has one that
///          must be the same for all nodes
Result<std::vector<std::string>> pool_arguments(const std::string& folder, const PoolChoice& pool);

/// The choice at the last start, in the agent's folder: containers must be able to start again
/// while no API server answers.
/// @returns kNotFound if there was none yet
Result<PoolChoice> remembered_pool(const std::string& state_dir);
Result<void> remember_pool(const std::string& state_dir, const PoolChoice& pool);

/// Which file applies to a node at the agent's start: by its label, or while no API server answers,
/// as at the last start.
/// @param timeout  of the API server's answer
/// @returns the errors of choose_pool(); kUnavailable if there is neither an answer nor a last
/// start
Result<PoolChoice> pool_of_node(kube::KubeApi& api, std::string_view node,
                                const std::string& folder, const std::string& state_dir,
                                std::chrono::milliseconds timeout);

/// Notices that another file is chosen for the node while the agent runs. Threads: any.
class PoolWatch {
 public:
  /// Whether the agent could start with that file; the error says what is wrong with it.
  using Check = std::function<Result<void>(const PoolChoice& pool)>;
  /// @param current  what the agent runs with
  /// @param restart  called once, when a valid other file is chosen
  PoolWatch(std::string folder, PoolChoice current, Check check, std::function<void()> restart);

  /// @param label  as choose_pool()
  void see(const std::string& label);

 private:
  const std::string folder_;
  const PoolChoice current_;
  const Check check_;
  const std::function<void()> restart_;
  void stay(const std::string& problem);  ///< logged once; "" = there is none

  std::mutex mutex_;
  // Under mutex_.
  std::string problem_;
  std::optional<PoolChoice> checked_;  ///< the last one; its file is not read again
  bool restarting_ = false;
};

}  // namespace tangram::node
