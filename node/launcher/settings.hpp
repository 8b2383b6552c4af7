#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tangram::node::launcher {

struct Settings {
  std::string socket = "/run/tangram/launcher/launcher.sock";
  std::string log_format = "text";
  std::vector<std::string> command = {};  ///< to run; empty = serve
};

struct ParsedSettings {
  Settings settings;
  std::optional<int> exit = {};  ///< set if the program is to end: help, version or a mistake
};

/// Prints help and mistakes.
[[nodiscard]] ParsedSettings parse_settings(int argc, const char* const* argv);

}  // namespace tangram::node::launcher
