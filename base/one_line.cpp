#include "base/one_line.hpp"

#include <algorithm>
#include <array>

namespace tangram {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};
constexpr std::array kHidden{
    Range{0x00, 0x1F},      // control characters
    Range{0x7F, 0x9F},      // and more of them
    Range{0x061C, 0x061C},  // mark of Arabic letters
    Range{0x200B, 0x200F},  // without width, and marks of direction
    Range{0x2028, 0x202E},  // ends of lines and paragraphs, embedded directions
    Range{0x2066, 0x2069},  // isolated directions
    Range{0xFEFF, 0xFEFF},  // byte order
};

/// How many bytes a character with this first one has; 0 = none begins so.
std::size_t length_by(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

/// Not written longer than it must be, no half of a pair, and no more than there are.
bool is_in_range(char32_t code, std::size_t length) {
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  return code >= kLeast.at(length) && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = length_by(byte(0));
  if (length == 0 || length > text.size()) return {};
  char32_t code = length == 1 ? byte(0) : byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  if (!is_in_range(code, length)) return {};
  return {.length = length, .valid = true, .code = code};
}

bool is_shown(char32_t character) {
  return std::ranges::none_of(kHidden, [&](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const bool shown = character.valid && is_shown(character.code);
    line += shown ? text.substr(0, character.length) : "?";
    text.remove_prefix(character.length);
  }
  return line;
}

}  // namespace tangram
