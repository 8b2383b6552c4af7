#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tangram {

using TimePoint = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

/// Where components read the time, so that tests can move it by hand.
/// Implementations are safe to call from many threads.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic: for time-outs and ages. Never goes back.
  [[nodiscard]] virtual TimePoint now() const = 0;
  /// Calendar time: for time stamps that people and other programs read.
  [[nodiscard]] virtual WallTime wall() const = 0;
};

/// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime wall() const override { return std::chrono::system_clock::now(); }
};

/// "2026-11-20T12:00:00Z", UTC, whole seconds: the form of Kubernetes' metav1.Time.
[[nodiscard]] std::string rfc3339(WallTime time);

/// "2026-11-20T12:00:00.000000Z", UTC: the form of Kubernetes' metav1.MicroTime.
[[nodiscard]] std::string rfc3339_micro(WallTime time);

}  // namespace tangram
