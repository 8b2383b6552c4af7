#include "node/launcher/socket.hpp"

#include "base/quote.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tangram::node::launcher {
namespace {

/// At this path until it is complete.
constexpr std::string_view kNew = ".new";

/// Clients that have connected while the launcher is busy; the kernel allows 128 by default in old
/// versions (net.core.somaxconn).
constexpr int kBacklog = 128;

constexpr mode_t kOwner = 0700;

std::string reason() { return std::generic_category().message(errno); }

Error unavailable(const std::string& what) {
  return fail(Errc::kUnavailable, what + ": " + reason());
}

Descriptor new_socket() { return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(Errc::kInvalidArgument,
                "the socket's path " + quote_if_needed(path) + " has " +
                    std::to_string(path.size()) + " bytes; name one of 1 to " +
                    std::to_string(sizeof(address.sun_path) - 1 - kNew.size()));
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  return address;
}

const sockaddr* general(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<void> make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), kOwner) == 0) return {};
  if (errno != EEXIST) return unavailable("the folder " + folder + " cannot be made");
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return unavailable(folder);
  constexpr mode_t kOthers = 077;
  if (S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() && (about.st_mode & kOthers) == 0) {
    return {};
  }
  return fail(Errc::kInvalidArgument,
              folder +
                  " is no folder that only this user can enter; name a --socket in a folder "
                  "that does not exist yet");
}

/// Not somebody's file.
Result<void> check_free(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) != 0 || S_ISSOCK(about.st_mode)) return {};
  return fail(Errc::kInvalidArgument,
              path + " exists and is no socket; name another --socket, or remove it");
}

/// The open files of one control message.
void take_files(cmsghdr* header, std::vector<Descriptor>& files) {
  if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    files.emplace_back(fd);
  }
}

/// A control message with room for the files of a command.
struct alignas(cmsghdr) Control {
  std::array<char, CMSG_SPACE(kFiles * sizeof(int))> bytes{};
};

}  // namespace

Result<Descriptor> listen_at(const std::string& path) {
  const std::string unfinished = path + std::string(kNew);
  const auto address = address_of(unfinished);
  if (!address) return address.error();
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (auto made = make_folder(folder.empty() ? "." : folder); !made) return made.error();
  if (auto is_free = check_free(path); !is_free) return is_free.error();
  Descriptor socket = new_socket();
  constexpr mode_t kReadWrite = 0600;
  (void)::unlink(unfinished.c_str());
  // Renamed when it listens: a client finds the former socket or this one.
  if (!socket.is_open() || ::bind(socket.get(), general(*address), sizeof(*address)) != 0 ||
      ::chmod(unfinished.c_str(), kReadWrite) != 0 || ::listen(socket.get(), kBacklog) != 0 ||
      std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return unavailable("cannot listen at " + path);
  }
  return socket;
}

Result<Descriptor> connect_to(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  Descriptor socket = new_socket();
  if (socket.is_open() && ::connect(socket.get(), general(*address), sizeof(*address)) == 0) {
    return socket;
  }
  // First, because the agent's messages have room for the first 64 characters.
  const std::string next = errno == EACCES || errno == EPERM
                               ? "run this as the launcher's user, root; "
                               : "is tangram-mps running on this node? ";
  return fail(Errc::kUnavailable,
              next + "its DaemonSet's pod cannot be reached at " + path + " (" + reason() + ")");
}

std::optional<uid_t> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer.uid;
}

Result<void> send_message(int socket, std::string_view bytes, const std::vector<int>& files) {
  iovec content{const_cast<char*>(bytes.data()), bytes.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    const std::size_t size = std::min(files.size(), kFiles) * sizeof(int);
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(header), files.data(), size);
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  return unavailable("the message cannot be sent");
}

Result<Received> receive_message(int socket, std::size_t most_bytes) {
  Received received{.bytes = std::string(most_bytes, '\0'), .files = {}, .is_whole = true};
  iovec content{received.bytes.data(), received.bytes.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t size = -1;
  do size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0) return unavailable("the message cannot be read");
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    take_files(header, received.files);
  }
  received.bytes.resize(static_cast<std::size_t>(size));
  received.is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  return received;
}

}  // namespace tangram::node::launcher
