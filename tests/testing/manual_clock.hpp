#pragma once

#include "base/clock.hpp"

#include <atomic>
#include <chrono>

namespace tangram::testing {

/// A clock that stands still until the test moves it. Safe to read from many threads.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint(elapsed()); }
  /// Starts at 2026-01-01T00:00:00Z.
  [[nodiscard]] WallTime wall() const override {
    return WallTime(std::chrono::seconds(1'767'225'600)) +
           std::chrono::duration_cast<WallTime::duration>(elapsed());
  }
  void advance(std::chrono::milliseconds by) { millis_ += by.count(); }

 private:
  [[nodiscard]] std::chrono::milliseconds elapsed() const {
    return std::chrono::milliseconds(millis_.load());
  }
  std::atomic<std::int64_t> millis_{0};
};

}  // namespace tangram::testing
