#pragma once

#include "base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>

namespace tangram::extender {

/// How many pods may be moved in any hour, and at which hours of the day in UTC.
/// Threads: one at a time.
class MoveBudget {
 public:
  struct Limits {
    int per_hour = 10;
    /// from <= hour < until, over midnight if until is less than from.
    int from_hour = 0;
    int until_hour = 24;
  };
  /// @param clock  outlives it
  MoveBudget(const Limits& limits, const Clock& clock) : limits_(limits), clock_(clock) {}

  /// May moves begin at this hour?
  [[nodiscard]] bool is_time() const {
    using std::chrono::hours;
    const auto since_midnight = clock_.wall().time_since_epoch() % hours(24);
    const auto hour = std::chrono::duration_cast<hours>(since_midnight).count();
    const bool from = hour >= limits_.from_hour;
    const bool until = hour < limits_.until_hour;
    return limits_.until_hour < limits_.from_hour ? from || until : from && until;
  }
  /// So many more may be moved in this hour.
  [[nodiscard]] std::size_t left() {
    forget_old_ones();
    const auto most = static_cast<std::size_t>(limits_.per_hour);
    return most - std::min(most, spent_.size());
  }
  void spend() {
    forget_old_ones();
    spent_.push_back(clock_.now());
  }
  /// The last one was not moved after all.
  void give_back() { spent_.pop_back(); }

 private:
  void forget_old_ones() {
    std::erase_if(spent_, [&](TimePoint at) { return clock_.now() - at >= std::chrono::hours(1); });
  }

  const Limits limits_;
  const Clock& clock_;
  std::deque<TimePoint> spent_;
};

}  // namespace tangram::extender
