#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

/// Sockets of packets, as between MPS clients and their daemon. A failure leaves its errno.
namespace tangram::fake_mps {

/// Calls bind() or connect() with a new socket and the address of that path.
/// @returns the socket, or -1
template <class Call>
int packet_socket(const std::string& path, const Call& call) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int file = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (call(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return file;
  const int error = errno;
  ::close(file);
  errno = error;
  return -1;
}

inline int listen_at(const std::string& path) {
  constexpr int kBacklog = 64;
  const int file = packet_socket(path, ::bind);
  return file >= 0 && ::listen(file, kBacklog) == 0 ? file : -1;
}

inline std::string receive(int connection) {
  std::array<char, 4096> packet{};
  const ssize_t size = ::recv(connection, packet.data(), packet.size(), 0);
  return {packet.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Sends one packet to who listens there. @returns the answer; nothing if nobody can be reached
inline std::optional<std::string> ask(const std::string& path, const std::string& packet) {
  const int connection = packet_socket(path, ::connect);
  if (connection < 0) return std::nullopt;
  ::send(connection, packet.data(), packet.size(), MSG_NOSIGNAL);
  std::string answer = receive(connection);
  ::close(connection);
  return answer;
}

}  // namespace tangram::fake_mps
