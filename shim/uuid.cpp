#include "shim/uuid.hpp"

#include <cstddef>
#include <cstdint>

namespace tangram::shim {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<Uuid> uuid_of(std::string_view card) {
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (card.starts_with(prefix)) card.remove_prefix(prefix.size());
  }
  constexpr std::size_t kLength = 36;
  if (card.size() != kLength) return std::nullopt;
  Uuid uuid{};
  std::size_t digits = 0;
  for (std::size_t i = 0; i < card.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (card[i] == '-')) return std::nullopt;
    if (dash) continue;
    const auto digit = hex_digit(card[i]);
    if (!digit) return std::nullopt;
    std::uint8_t& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>((unsigned{byte} << 4U) | *digit);
    ++digits;
  }
  return uuid;
}

}  // namespace tangram::shim
