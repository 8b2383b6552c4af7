#pragma once

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

namespace tangram::e2e {

/// Reports changes in a folder.
class FolderWatch {
 public:
  explicit FolderWatch(const std::filesystem::path& folder) : fd_(inotify_init1(IN_CLOEXEC)) {
    inotify_add_watch(fd_, folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  }
  ~FolderWatch() { ::close(fd_); }
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  /// Returns after a change, at the latest after `limit`.
  void wait(std::chrono::milliseconds limit) const {
    pollfd wanted{};
    wanted.fd = fd_;
    wanted.events = POLLIN;
    if (::poll(&wanted, 1, static_cast<int>(limit.count())) <= 0) return;
    std::array<char, 4096> taken{};
    [[maybe_unused]] const auto size = ::read(fd_, taken.data(), taken.size());
  }

 private:
  int fd_;
};

}  // namespace tangram::e2e
