#pragma once

#include "base/result.hpp"
#include "node/launcher/message.hpp"
#include "node/launcher/socket.hpp"

#include <sys/types.h>

#include <array>

namespace tangram::node::launcher {

/// Exit codes, as those of shells and of chroot(1).
inline constexpr int kNotRun = 125;         ///< this program failed, not the command
inline constexpr int kNotExecutable = 126;  ///< the command's file cannot be executed
inline constexpr int kNotFound = 127;       ///< there is no such command
inline constexpr int kSignalled = 128;      ///< and the number of the signal

/// Starts a program as a child, in a process group of its own that is named after its process id,
/// in the folder /, with these open files and no others. If the program cannot be executed, the
/// child says so on its standard error, and exits with kNotFound or kNotExecutable.
/// @param files  none of them 0, 1 or 2
/// @returns kUnavailable if there can be no other process now
[[nodiscard]] Result<pid_t> start(const Request& request, const std::array<int, kFiles>& files);

/// Of a status of waitpid(2).
[[nodiscard]] int exit_code_of(int status);

/// Opens /dev/null in place of standard input, output and error that are closed, so that no other
/// file gets their numbers.
void open_standard_files();

}  // namespace tangram::node::launcher
