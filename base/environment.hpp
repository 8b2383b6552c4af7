#pragma once

#include <functional>
#include <string>

namespace tangram {

/// Reads an environment variable; "" where it is not set. Injected so that tests set none.
using Environment = std::function<std::string(const std::string& name)>;
/// Of this process. Threads: safe, since nothing of Tangram sets variables.
[[nodiscard]] std::string process_environment(const std::string& name);

}  // namespace tangram
