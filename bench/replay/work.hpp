#pragma once

#include <algorithm>
#include <cstdint>

namespace tangram::bench {

/// What it costs a pod to be stopped and started again, by an eviction or a move.
struct RestartCost {
  std::int64_t delay = 60'000;  ///< milliseconds until it works again, in its place
  bool loses_work = false;      ///< it begins anew; false = it goes on where it was
};

/// What is left of a pod's work. Milliseconds.
class Work {
 public:
  explicit Work(std::int64_t lasts) : lasts_(lasts), left_(lasts) {}

  /// @returns when it will have done all
  std::int64_t start(std::int64_t now, const RestartCost& cost) {
    delay_ = stopped_ ? cost.delay : 0;
    started_ = now;
    return now + delay_ + left_;
  }

  void stop(std::int64_t now, const RestartCost& cost) {
    const std::int64_t worked = std::max<std::int64_t>(0, now - started_ - delay_);
    overhead_ += now - started_ - worked;
    if (cost.loses_work) {
      overhead_ += worked + (lasts_ - left_);
      left_ = lasts_;
    } else {
      left_ -= worked;
    }
    stopped_ = true;
  }

  void finish() { overhead_ += delay_; }

  /// Time in a place that restarts cost: delays, and work that was lost.
  [[nodiscard]] std::int64_t overhead() const { return overhead_; }

 private:
  std::int64_t lasts_;
  std::int64_t left_;
  std::int64_t started_ = 0;
  std::int64_t delay_ = 0;  ///< of the current run
  std::int64_t overhead_ = 0;
  bool stopped_ = false;
};

}  // namespace tangram::bench
