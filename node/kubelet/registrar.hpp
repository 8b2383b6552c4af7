#pragma once

#include "node/kubelet/device_plugin.hpp"
#include "node/kubelet/folder_watch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace tangram::node {

/// Identifies a file: its inode and creation time, because inodes are used again.
struct FileId {
  std::uint64_t inode = 0;
  std::int64_t made_ns = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Keeps a device plugin registered with kubelet.
///
/// A starting kubelet removes all sockets of the folder and creates its own. It forgets a plugin
/// whose ListAndWatch ends, and may end the new stream instead of the old one if a plugin registers
/// again too quickly. So every change of the folder, and every second, this checks whether the
/// plugin's socket is still its own and whether kubelet has a stream open; if not, it serves or
/// registers again. Meanwhile containers with slots cannot start, and those that crash may fail
/// permanently: hence inotify. Where the folder cannot be watched, because the node has no inotify
/// instance left, this checks every second only, and tries to watch it again each time.
class Registrar {
 public:
  /// Injected so that tests can let it fail.
  using OpenWatch = std::function<Result<FolderWatch>(const std::string& folder)>;

  Registrar(PluginPaths paths, std::string resource, DevicePlugin& plugin,
            OpenWatch open_watch = FolderWatch::open);

  /// Until stop. Blocks.
  void run(const std::stop_token& stop);

  /// From any thread.
  [[nodiscard]] std::uint64_t registrations() const { return registrations_; }

 private:
  void follow(FolderWatch opened, const std::stop_token& stop);
  void step_unwatched(const Error& why);
  void step();
  bool serve_again();
  void register_with(const FileId& kubelet);
  [[nodiscard]] bool own_socket_is_there() const;

  const PluginPaths paths_;
  const std::string resource_;
  DevicePlugin& plugin_;
  const OpenWatch open_watch_;
  std::optional<FileId> own_socket_;
  std::optional<FileId> last_socket_;                   ///< kubelet's, at the last check
  std::optional<FileId> kubelet_socket_;                ///< kubelet's, at the last registration
  std::chrono::steady_clock::time_point not_before_{};  ///< the next registration
  std::chrono::milliseconds backoff_{};
  std::string problem_;        ///< of registering, the last one logged
  std::string watch_problem_;  ///< of watching, the last one logged
  std::atomic<std::uint64_t> registrations_ = 0;
};

}  // namespace tangram::node
