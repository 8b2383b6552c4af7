#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tangram {

/// Standard base64 (RFC 4648), with padding, on one line.
[[nodiscard]] std::string base64_encode(std::string_view bytes);

/// The bytes that standard base64 (RFC 4648, with padding) stands for; line ends are skipped.
/// @returns nothing if the text is not base64
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace tangram
