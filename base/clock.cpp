#include "base/clock.hpp"

#include <fmt/chrono.h>

namespace tangram {

namespace {

constexpr auto whole_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace

std::string rfc3339(WallTime time) { return fmt::format("{:%FT%TZ}", whole_seconds(time)); }

std::string rfc3339_micro(WallTime time) {
  const WallTime second = whole_seconds(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - second);
  return fmt::format("{:%FT%T}.{:06}Z", second, micros.count());
}

}  // namespace tangram
