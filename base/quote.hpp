#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tangram {

/// Long enough for every name Kubernetes allows in a label; short enough for a one-line message.
inline constexpr std::size_t kMaxQuoted = 64;

/// Somebody else's text, made safe to show in a message or a log: in double quotes, every byte
/// that is not printable ASCII as \xNN, quotes and backslashes escaped, and cut with "..." so
/// that no more than kMaxQuoted characters stand between the quotes.
[[nodiscard]] std::string quote(std::string_view text);

/// For names, which are nearly always harmless: the text itself if quote() would only put quotes
/// around it, else quote(text).
[[nodiscard]] std::string quote_if_needed(std::string_view text);

}  // namespace tangram
