#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tangram::bench {

/// The upper one of two in the middle. @param values  at least one
[[nodiscard]] inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tangram::bench
