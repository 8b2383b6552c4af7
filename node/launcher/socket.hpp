#pragma once

#include "base/descriptor.hpp"
#include "base/result.hpp"

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::launcher {

/// Standard input, output and error of a command.
inline constexpr std::size_t kFiles = 3;

/// Listens at a path in a folder that only this user can enter, and takes the place of a socket
/// that an earlier launcher has left there. Makes the folder, but not the one above it.
/// @returns kInvalidArgument  the path is too long, or something else is there
///          kUnavailable      with the system's reason
[[nodiscard]] Result<Descriptor> listen_at(const std::string& path);

/// @returns kUnavailable, with what to look for
[[nodiscard]] Result<Descriptor> connect_to(const std::string& path);

/// Of the process that has connected, when it did; nothing if that is unknown.
[[nodiscard]] std::optional<uid_t> peer_of(int socket);

/// One message, with open files. It does not wait if the other side has not read the last one.
/// @returns kUnavailable
Result<void> send_message(int socket, std::string_view bytes, const std::vector<int>& files = {});

struct Received {
  std::string bytes;              ///< empty = the other side has left
  std::vector<Descriptor> files;  ///< closed when a program is started
  bool is_whole = true;           ///< false: more bytes or files than there is room for
};
/// @returns kUnavailable
[[nodiscard]] Result<Received> receive_message(int socket, std::size_t most_bytes);

}  // namespace tangram::node::launcher
