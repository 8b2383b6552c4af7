#include "extender/page/event_id.hpp"

#include "base/number.hpp"

#include <fmt/format.h>

namespace tangram::extender {
namespace {

constexpr std::size_t kLifeDigits = 16;
constexpr char kDash = '-';

}  // namespace

std::string to_string(EventId id) { return fmt::format("{:016x}-{}", id.life, id.number); }

std::optional<EventId> parse_event_id(std::string_view text) {
  if (text.size() < kLifeDigits + 2 || text[kLifeDigits] != kDash) return std::nullopt;
  const auto life = parse_number<std::uint64_t>(text.substr(0, kLifeDigits), 16);
  const auto number = parse_number<std::uint64_t>(text.substr(kLifeDigits + 1));
  if (!life || !number) return std::nullopt;
  const EventId id{*life, *number};
  // One spelling only: no capitals, no zeros in front.
  if (to_string(id) != text) return std::nullopt;
  return id;
}

}  // namespace tangram::extender
