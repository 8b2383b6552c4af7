#include "bench/stand_in/comparison.hpp"

#include <algorithm>
#include <cstddef>

namespace tangram::bench {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double Comparison::bare() const { return median(bare_); }

double Comparison::behind() const { return median(behind_); }

double Comparison::added() const {
  std::vector<double> differences;
  for (std::size_t i = 0; i < bare_.size(); ++i) differences.push_back(behind_[i] - bare_[i]);
  return median(differences);
}

double Comparison::added_floors(double mutex_ns) const {
  return added() / (allowance_.floor == Floor::kMutex ? mutex_ns : bare());
}

}  // namespace tangram::bench
