#pragma once

#include "bench/replay/waits.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::bench {

/// What is measured at a moment, or the mean over a while.
template <class Number>
struct Levels {
  Number allocated_milli{};
  Number idle_cards{};  ///< wholly idle, and neither they nor their nodes are broken
  Number running_pods{};
  ByClass<Number> waiting{};  ///< pods without a place
};

/// Means over time, in equal steps from the start to the end. What came before the first quarter
/// of the time is over is the warm-up, in which the cluster fills.
class Timeline {
 public:
  /// @param ends   milliseconds from the start
  /// @param steps  of the series
  explicit Timeline(std::int64_t ends, std::size_t steps = kSteps);

  static constexpr std::size_t kSteps = 120;  ///< as many points as a small picture shows

  [[nodiscard]] std::int64_t measured_from() const { return ends_ / 4; }
  [[nodiscard]] std::int64_t ends() const { return ends_; }

  /// The levels have been these since the last call, until now. Time after the end is left out.
  void pass(std::int64_t until, const Levels<std::int64_t>& levels);

  [[nodiscard]] Levels<double> mean() const;  ///< after the warm-up
  [[nodiscard]] std::vector<Levels<double>> series() const;

 private:
  struct Sum {
    Levels<double> levels;  ///< times milliseconds
    std::int64_t time = 0;
  };
  static void add(Sum& sum, const Levels<std::int64_t>& levels, std::int64_t time);
  [[nodiscard]] static Levels<double> mean_of(const Sum& sum);
  [[nodiscard]] std::int64_t step_ends(std::size_t step) const;

  std::int64_t ends_;
  std::int64_t now_ = 0;
  std::size_t step_ = 0;
  std::vector<Sum> steps_;
  Sum measured_;
};

}  // namespace tangram::bench
