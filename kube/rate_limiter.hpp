#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <mutex>
#include <optional>

namespace tangram::kube {

/// A token bucket: so many calls per second in the long run, and a burst of them at once after a
/// pause. The same two numbers as qps and burst of Kubernetes' own clients.
///
/// A token is taken ahead of its time and the caller waits until it is there, so callers are served
/// in the order they came. Threads: safe.
class RateLimiter {
 public:
  /// @param per_second, burst  at least 1
  RateLimiter(int per_second, int burst, const Clock& clock);
  /// @param interval  between two calls in the long run
  RateLimiter(std::chrono::nanoseconds interval, int burst, const Clock& clock);

  /// Takes one token. @returns how long to wait before using it; nothing, and no token is taken, if
  /// that would be longer than `patience`
  [[nodiscard]] std::optional<std::chrono::nanoseconds> reserve(std::chrono::nanoseconds patience);

 private:
  const Clock& clock_;
  const std::chrono::nanoseconds interval_;  ///< between two tokens
  const std::chrono::nanoseconds credit_;    ///< what a full bucket is worth

  std::mutex mutex_;
  TimePoint next_;  ///< when the next token would come if the bucket held one only
};

}  // namespace tangram::kube
