#include "node/kubelet/folder_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace tangram::node {
namespace {

std::string_view what_to_raise(int code) {
  switch (code) {
    case EMFILE:
      return "; raise fs.inotify.max_user_instances on the node, or the agent's limit of open "
             "files";
    case ENFILE:
      return "; raise fs.file-max on the node";
    case ENOSPC:
      return "; raise fs.inotify.max_user_watches on the node";
    case ENOMEM:
      return "; the kernel has no memory for it: raise the agent's memory limit, or free some";
    default:
      return "";
  }
}

}  // namespace

Error folder_watch_error(const std::string& folder, int code) {
  const bool missing = code == ENOENT || code == ENOTDIR;
  return fail(missing ? Errc::kNotFound : Errc::kUnavailable,
              "cannot watch " + folder + ": " + std::generic_category().message(code) +
                  std::string(what_to_raise(code)));
}

Result<FolderWatch> FolderWatch::open(const std::string& folder) {
  constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM;
  const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const int bell = events < 0 ? -1 : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  FolderWatch watch(events, bell);
  if (events < 0 || bell < 0 || inotify_add_watch(events, folder.c_str(), kChanges) < 0) {
    return folder_watch_error(folder, errno);
  }
  return watch;
}

FolderWatch::FolderWatch(FolderWatch&& other) noexcept
    : events_(std::exchange(other.events_, -1)), bell_(std::exchange(other.bell_, -1)) {}

FolderWatch::~FolderWatch() {
  if (events_ >= 0) close(events_);
  if (bell_ >= 0) close(bell_);
}

void FolderWatch::wait(std::chrono::milliseconds limit) {
  std::array<pollfd, 2> files{{{events_, POLLIN, 0}, {bell_, POLLIN, 0}}};
  poll(files.data(), files.size(), static_cast<int>(limit.count()));
  // The contents of the events do not matter.
  std::array<char, 4096> drain{};
  for (const pollfd& file : files) {
    while (read(file.fd, drain.data(), drain.size()) > 0) continue;
  }
}

void FolderWatch::wake() {
  const std::uint64_t one = 1;
  // Fails only after 2^64 calls without a read.
  [[maybe_unused]] const auto written = write(bell_, &one, sizeof one);
}

}  // namespace tangram::node
