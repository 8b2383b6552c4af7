#pragma once

#include "node/kubelet/device_plugin.hpp"
#include "node/kubelet/folder_watch.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace tangram::node {

/// Which file a path is: inode, and when it was made, for inodes are used again.
struct FileId {
  std::uint64_t inode = 0;
  std::int64_t made_ns = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Keeps a device plugin registered, whatever kubelet does.
///
/// Kubelet removes all sockets of the folder when it starts, ours too, and makes its own anew; it
/// forgets a plugin whose ListAndWatch ends, and may by mistake end the new stream in place of the
/// old one when a plugin registers again too quickly. So this looks, whenever something in the
/// folder changed and every second: is our socket the one we made? Does kubelet listen? If not it
/// makes the one, or asks for the other. While kubelet does not know the plugin, containers with
/// slots cannot start, and those that crash in that time may be failed for good: hence inotify and
/// no poll.
class Registrar {
 public:
  Registrar(PluginPaths paths, std::string resource, DevicePlugin& plugin);

  /// Until stop. Blocks.
  void run(const std::stop_token& stop);

  /// From any thread.
  [[nodiscard]] std::uint64_t registrations() const { return registrations_; }

 private:
  void step();
  [[nodiscard]] bool own_socket_is_there() const;

  const PluginPaths paths_;
  const std::string resource_;
  DevicePlugin& plugin_;
  std::optional<FileId> own_socket_;
  std::optional<FileId> seen_socket_;                   ///< kubelet's, at the last look
  std::optional<FileId> kubelet_socket_;                ///< at which it was registered last
  std::chrono::steady_clock::time_point not_before_{};  ///< the next registration
  std::chrono::milliseconds backoff_{};
  std::string problem_;  ///< as logged last
  std::atomic<std::uint64_t> registrations_ = 0;
};

}  // namespace tangram::node
