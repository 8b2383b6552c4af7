#pragma once

#include "base/result.hpp"

#include <string>

namespace tangram {

/// The whole of a file, byte for byte.
/// @returns kNotFound if it cannot be read: missing, a folder, or not ours to read
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace tangram
