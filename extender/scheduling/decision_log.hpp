#pragma once

#include "base/clock.hpp"
#include "extender/scheduling/wire.hpp"
#include "kube/rate_limiter.hpp"
#include "model/node_state.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tangram::extender {

/// How a bind ended, and what led there.
struct Decision {
  const BindArgs& args;
  std::string_view outcome = {};         ///< a label of tangram_binds_total
  std::string_view why = {};             ///< it is not bound; empty = it is
  std::string policy = {};               ///< that chose the cards; empty = none was asked
  model::AllocationPtr allocation = {};  ///< null = none
  std::chrono::nanoseconds took{};
};

/// Writes a line to the log for each bind: which pod got which cards, by which policy, in what
/// time. Threads: safe.
class DecisionLog {
 public:
  /// A kube-scheduler that works alone stays below this. More would only hide other lines, and
  /// the grants of the pods say the same.
  static constexpr int kPerSecond = 50;
  static constexpr int kBurst = 200;
  /// A pod may have 64 cards; a line is to be read.
  static constexpr std::size_t kMostCards = 8;

  explicit DecisionLog(const Clock& clock) : limit_(kPerSecond, kBurst, clock) {}
  void write(const Decision& decision);

 private:
  kube::RateLimiter limit_;
  std::atomic<std::uint64_t> left_out_{0};  ///< since the last line
};

}  // namespace tangram::extender
