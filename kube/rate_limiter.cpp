#include "kube/rate_limiter.hpp"

#include <algorithm>

namespace tangram::kube {

using std::chrono::nanoseconds;

RateLimiter::RateLimiter(int per_second, int burst, const Clock& clock)
    : RateLimiter(nanoseconds(std::chrono::seconds(1)) / per_second, burst, clock) {}

RateLimiter::RateLimiter(nanoseconds interval, int burst, const Clock& clock)
    : clock_(clock), interval_(interval), credit_(interval_ * (burst - 1)), next_(clock.now()) {}

std::optional<nanoseconds> RateLimiter::reserve(nanoseconds patience) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = clock_.now();
  const TimePoint due = std::max(next_, now);
  const nanoseconds wait = std::max(nanoseconds(due - now) - credit_, nanoseconds(0));
  if (wait > patience) return std::nullopt;
  next_ = due + interval_;
  return wait;
}

}  // namespace tangram::kube
