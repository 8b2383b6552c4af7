#pragma once

#include "base/result.hpp"
#include "node/hook/cgroup.hpp"
#include "node/hook/memory_limiter.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::hook {

struct Settings {
  std::vector<MemoryLimit> limits;  ///< of NVIDIA's cards, by UUID
  std::vector<MemoryLimit> dmem;    ///< by region; see DmemLimiter
  std::string nvml = "libnvidia-ml.so.1";
  KernelFolders folders;
};

struct ParsedSettings {
  Settings settings;
  std::optional<int> exit;  ///< set if the program is to end: help, version or a mistake
};

/// "GPU-…=16255MiB".
/// @returns kInvalidArgument, with what to write instead
[[nodiscard]] Result<MemoryLimit> parse_limit(std::string_view text);

/// Prints help and mistakes. At least one limit must be given, and no card twice: a hook without
/// limits would let the container start without them.
[[nodiscard]] ParsedSettings parse_settings(int argc, const char* const* argv);

}  // namespace tangram::node::hook
