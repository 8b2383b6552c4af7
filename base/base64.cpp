#include "base/base64.hpp"

#include <algorithm>
#include <cstdint>

namespace tangram {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

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

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += digit <= count ? kAlphabet[group >> (18U - 6U * digit) & 0x3FU] : '=';
    }
  }
  return text;
}

}  // namespace tangram
