#include "cli/screen.hpp"

#include "base/one_line.hpp"

namespace tangram::cli {

namespace {

/// The length of the colour at the beginning of the text, "\x1b[1;38;5;42m"; 0 if there is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string without_controls(std::string_view text, bool colours) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t colour = colours ? colour_length(text) : 0;
    const Utf8Character next = first_character(text);
    const std::size_t length = colour > 0 ? colour : next.length;
    const bool kept = colour > 0 || text.front() == '\n' || (next.valid && is_shown(next.code));
    plain += kept ? text.substr(0, length) : "?";
    text.remove_prefix(length);
  }
  return plain;
}

}  // namespace tangram::cli
