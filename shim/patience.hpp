#pragma once

#include <time.h>

#include <cstdint>

namespace tangram::shim {

/// Tries every 50 us or so, for half a second at most.
/// @returns whether an attempt succeeded
template <class Attempt>
bool try_for_half_a_second(Attempt&& attempt) {
  constexpr std::int64_t kMostNs = 500'000'000;
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  const auto now_ns = [] {
    timespec now{};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * kNsPerSecond + now.tv_nsec;
  };
  if (attempt()) return true;
  for (const std::int64_t begin = now_ns(); now_ns() - begin < kMostNs;) {
    (void)nanosleep(&kPause, nullptr);
    if (attempt()) return true;
  }
  return false;
}

}  // namespace tangram::shim
