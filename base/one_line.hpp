#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tangram {

/// Somebody else's text as one line that shows its characters in their order, for tables and
/// sentences: '?' stands for each character that is not is_shown(), and for each byte that is not
/// UTF-8. No longer than `text`; a second time changes nothing.
[[nodiscard]] std::string one_line(std::string_view text);

/// Neither a control character, nor one that separates lines or paragraphs, turns the direction of
/// writing, or has no width.
[[nodiscard]] bool is_shown(char32_t character);

/// The character at the beginning of a text that is not empty.
struct Utf8Character {
  std::size_t length = 1;  ///< in bytes; 1 if it is none
  bool valid = false;
  char32_t code = 0;
};
[[nodiscard]] Utf8Character first_character(std::string_view text);

}  // namespace tangram
