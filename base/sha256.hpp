#pragma once

#include <string>
#include <string_view>

namespace tangram {

/// SHA-256 (FIPS 180-4): 32 bytes.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace tangram
