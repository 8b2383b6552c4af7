#pragma once

#include "base/result.hpp"

#include <chrono>
#include <string>

namespace tangram::node {

/// Waits for files in a folder to be created, removed or renamed (inotify). It does not report the
/// event: read the folder, so that nothing depends on every event. Threads: wait() on one at a
/// time, wake() on any.
class FolderWatch {
 public:
  /// @returns as of folder_watch_error()
  static Result<FolderWatch> open(const std::string& folder);
  FolderWatch(FolderWatch&& other) noexcept;
  FolderWatch& operator=(FolderWatch&&) = delete;
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;
  ~FolderWatch();

  /// Until something changed, wake() was called, or the time is over.
  void wait(std::chrono::milliseconds limit);
  void wake();

 private:
  FolderWatch(int events, int bell) : events_(events), bell_(bell) {}
  int events_;  ///< inotify
  int bell_;    ///< eventfd
};

/// Why a folder cannot be watched, and what to raise if the node has no more watches.
/// @param code  errno
/// @returns kNotFound     there is no such folder
///          kUnavailable  for now; all root processes of the node, those in containers too, share
///                        one pool of inotify instances, so others can exhaust it
[[nodiscard]] Error folder_watch_error(const std::string& folder, int code);

}  // namespace tangram::node
