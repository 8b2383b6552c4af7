#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>

/// Sleeping until a word of a shared page changes, in whatever process maps it. The word is only
/// read, by the kernel: a mapping without the right to write, or of a file that was cut since, does
/// no harm.
namespace tangram::shim {

/// @param most_ms  0 = does not sleep
/// @returns whether the time is over; else the word had another value, or was woken
inline bool wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                       unsigned most_ms) {
  constexpr long kMsPerSecond = 1000;
  constexpr long kNsPerMs = 1'000'000;
  const timespec most{static_cast<time_t>(most_ms / kMsPerSecond),
                      static_cast<long>(most_ms) % kMsPerSecond * kNsPerMs};
  const timespec begin = [] {
    timespec now{};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
  }();
  (void)syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
  timespec end{};
  (void)clock_gettime(CLOCK_MONOTONIC, &end);
  const long passed_ms =
      (end.tv_sec - begin.tv_sec) * kMsPerSecond + (end.tv_nsec - begin.tv_nsec) / kNsPerMs;
  return passed_ms >= static_cast<long>(most_ms);
}

inline void wake_all(const std::atomic<std::uint32_t>& word) {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace tangram::shim
