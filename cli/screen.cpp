#include "cli/screen.hpp"

#include "base/number.hpp"
#include "base/one_line.hpp"

#include <cstdint>

namespace tangram::cli {

namespace {

/// Removes `code` and the ';' behind it from the beginning of `codes`.
bool take(std::string_view& codes, std::string_view code) {
  if (!codes.starts_with(code)) return false;
  const std::string_view rest = codes.substr(code.size());
  if (!rest.empty() && rest.front() != ';') return false;
  codes = rest.substr(rest.empty() ? 0 : 1);
  return true;
}

/// The same for one of the 256 colours behind `kind`.
void take_colour(std::string_view& codes, std::string_view kind) {
  if (!codes.starts_with(kind)) return;
  const std::string_view number = codes.substr(kind.size());
  const std::string_view digits = number.substr(0, number.find(';'));
  if (digits.size() > 3 || !parse_number<std::uint8_t>(digits)) return;
  take(codes, codes.substr(0, kind.size() + digits.size()));
}

/// Does drawing::paint() write these codes? Others hide text, make it blink or change the font.
bool is_painted(std::string_view codes) {
  if (codes == "0") return true;
  if (codes.empty() || codes.ends_with(';')) return false;
  take(codes, "1");
  take(codes, "2");
  take_colour(codes, "38;5;");
  take_colour(codes, "48;5;");
  return codes.empty();
}

/// The length of the colour at the beginning of the text, "\x1b[1;38;5;42m"; 0 if there is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos || text[end] != 'm') return 0;
  return is_painted(text.substr(2, end - 2)) ? end + 1 : 0;
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
