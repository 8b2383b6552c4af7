#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tangram {

/// The number that a text is, from its first character to its last.
/// @param format  as for std::from_chars: the base of an integer
/// @returns nothing for anything else, also for a number that `Number` cannot hold
template <class Number, class... Format>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Format... format) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, format...);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tangram
