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
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t value = c == '=' ? 0 : kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    if (c == '=') {
      if (digits < 2) return std::nullopt;
      ++padding;
    } else if (padding > 0) {
      return std::nullopt;
    }
    group = group << 6U | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    for (int byte = 0; byte < 3 - padding; ++byte) {
      bytes += static_cast<char>(group >> (16U - 8U * static_cast<unsigned>(byte)) & 0xFFU);
    }
    digits = 0;
    group = 0;
  }
  if (digits != 0 || padding > 2) return std::nullopt;
  return bytes;
}

}  // namespace tangram
