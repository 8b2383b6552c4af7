#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::e2e {

/// A TCP socket that the kernel lists, in any state.
struct TcpSocket {
  std::string inode;
  std::string peer;  ///< IPv4 address; "" with IPv6. "0.0.0.0" = none, it listens
  int local_port = 0;
  int peer_port = 0;  ///< 0 = none, it listens
};

/// The sockets in the text of /proc/net/tcp or /proc/net/tcp6.
[[nodiscard]] std::vector<TcpSocket> parse_tcp_sockets(std::string_view table);

/// What a process uses, from /proc. What a busy process opens or closes meanwhile may be counted
/// wrongly.
struct Usage {
  int memory_mib = 0;
  int descriptors = 0;  ///< all, also those of the next four
  std::vector<TcpSocket> tcp;
  int unix_sockets = 0;
  int dead_sockets = 0;  ///< their connection is gone, but they are not closed
  int others = 0;        ///< files, pipes, timers, …: no sockets
};

/// All 0 if there is no such process.
[[nodiscard]] Usage usage_of(pid_t pid);

/// What all threads of a process have computed so far; 0 if there is no such process.
[[nodiscard]] std::chrono::duration<double> cpu_time_of(pid_t pid);

}  // namespace tangram::e2e
