#include "base/clock.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace tangram {

namespace {

std::tm utc(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(
          std::chrono::floor<std::chrono::seconds>(time)));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

std::string format_utc(WallTime time) {
  const std::tm parts = utc(time);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return {text.data(), size};
}

}  // namespace

std::string rfc3339(WallTime time) { return format_utc(time) + "Z"; }

std::string rfc3339_micro(WallTime time) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
      time - std::chrono::floor<std::chrono::seconds>(time));
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros.count()));
  return format_utc(time) + fraction.data();
}

}  // namespace tangram
