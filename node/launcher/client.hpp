#pragma once

#include "base/result.hpp"
#include "node/launcher/message.hpp"

#include <string>

namespace tangram::node::launcher {

/// Has a command run by the launcher, with this process's standard input, output and error, and
/// waits for its end. If this process ends before, the launcher kills the command.
/// @returns its exit code;
///          kUnavailable, kTooLarge, kInvalidArgument  the launcher cannot be reached or refuses
[[nodiscard]] Result<int> run_by_launcher(const std::string& socket, const Request& request);

/// The environment of this process.
[[nodiscard]] std::vector<std::string> own_environment();

}  // namespace tangram::node::launcher
