#include "cli/screen.hpp"

namespace tangram::cli {

namespace {

/// The length of the colour at the beginning of the text, "\x1b[1;38;5;42m"; 0 if there is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// A control character of Unicode's second block, as UTF-8: some terminals obey those, too.
bool is_late_control(std::string_view text) {
  if (text.size() < 2 || text[0] != '\xc2') return false;
  return (static_cast<unsigned char>(text[1]) & 0xE0U) == 0x80U;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f';
}

}  // namespace

std::string without_controls(std::string_view text, bool colours) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t colour = colours ? colour_length(text) : 0;
    const std::size_t length = colour > 0 ? colour : is_late_control(text) ? 2 : 1;
    const bool kept = colour > 0 || (length == 1 && !is_control(text.front()));
    plain += kept ? text.substr(0, length) : "?";
    text.remove_prefix(length);
  }
  return plain;
}

}  // namespace tangram::cli
