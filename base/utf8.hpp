#pragma once

#include <cstddef>
#include <string_view>

namespace tangram {

/// As much of a UTF-8 text as fits into so many bytes, not cut through a character.
[[nodiscard]] constexpr std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U; };
  while (bytes > 0 && continues()) --bytes;
  return text.substr(0, bytes);
}

}  // namespace tangram
