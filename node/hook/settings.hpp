#pragma once

#include "node/hook/cgroup.hpp"

#include <optional>
#include <string>

namespace tangram::node::hook {

struct Settings {
  std::string limits;  ///< a LimitsFolder
  std::string nvml = "libnvidia-ml.so.1";
  KernelFolders folders;
};

struct ParsedSettings {
  Settings settings;
  std::optional<int> exit;  ///< set if the program is to end: help, version or a mistake
};

/// Prints help and mistakes.
[[nodiscard]] ParsedSettings parse_settings(int argc, const char* const* argv);

}  // namespace tangram::node::hook
