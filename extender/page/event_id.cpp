#include "extender/page/event_id.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tangram::extender {
namespace {

constexpr std::size_t kLifeDigits = 16;
constexpr char kDash = '-';

/// All of it, without a sign, a prefix or anything behind it.
std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

std::string to_string(EventId id) { return fmt::format("{:016x}-{}", id.life, id.number); }

std::optional<EventId> parse_event_id(std::string_view text) {
  if (text.size() < kLifeDigits + 2 || text[kLifeDigits] != kDash) return std::nullopt;
  const auto life = parse_number(text.substr(0, kLifeDigits), 16);
  const auto number = parse_number(text.substr(kLifeDigits + 1), 10);
  if (!life || !number) return std::nullopt;
  const EventId id{*life, *number};
  // One spelling only: no capitals, no zeros in front.
  if (to_string(id) != text) return std::nullopt;
  return id;
}

}  // namespace tangram::extender
