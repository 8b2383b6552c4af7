#include "base/base64.hpp"

#include <cstdint>

namespace tangram {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const unsigned byte = i < part.size() ? static_cast<unsigned char>(part[i]) : 0U;
      group = group << 8U | byte;
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const auto value = group >> (18U - 6U * static_cast<unsigned>(digit)) & 0x3FU;
      text += digit <= part.size() ? kAlphabet[value] : '=';
    }
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == '\n' || c == '\r'; });
  const std::size_t length = digits.find_last_not_of('=') + 1;
  if (digits.size() % 4 != 0 || digits.size() - length > 2) return std::nullopt;
  digits.resize(length);

  std::string bytes;
  bytes.reserve(length / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;  // of the group that are not written yet
  for (const char c : digits) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    group = group << 6U | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFFU);
  }
  return bytes;
}

}  // namespace tangram
