#include "bench/stand_in/comparison.hpp"

#include "bench/median.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tangram::bench {

double Comparison::bare() const { return median(bare_); }

double Comparison::behind() const { return median(behind_); }

std::vector<double> Comparison::differences() const {
  std::vector<double> all;
  for (std::size_t i = 0; i < bare_.size(); ++i) all.push_back(behind_[i] - bare_[i]);
  return all;
}

double Comparison::added() const { return median(differences()); }

double Comparison::noise() const {
  // Of a median, by the median deviation, which a few disturbed rounds do not change.
  constexpr double kOfMedian = 1.2533;
  constexpr double kOfDeviation = 1.4826;
  const double middle = added();
  std::vector<double> deviations = differences();
  for (double& each : deviations) each = std::abs(each - middle);
  return kOfMedian * kOfDeviation * median(deviations) /
         std::sqrt(static_cast<double>(bare_.size()));
}

double Comparison::added_floors(double mutex_ns) const {
  return added() / (allowance_.floor == Floor::kMutex ? mutex_ns : bare());
}

}  // namespace tangram::bench
