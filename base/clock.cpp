#include "base/clock.hpp"

#include <fmt/chrono.h>

namespace tangram {

namespace {

/// In UTC: fmt formats a time_point in the time zone of the process.
std::string utc_seconds(WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%FT%T}", fmt::gmtime(std::chrono::system_clock::to_time_t(second)));
}

}  // namespace

std::string rfc3339(WallTime time) { return utc_seconds(time) + "Z"; }

std::string rfc3339_micro(WallTime time) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch());
  return fmt::format("{}.{:06}Z", utc_seconds(time),
                     (micros - std::chrono::floor<std::chrono::seconds>(micros)).count());
}

}  // namespace tangram
