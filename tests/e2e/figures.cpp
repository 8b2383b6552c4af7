#include "tests/e2e/figures.hpp"

#include "tests/e2e/environment.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace tangram::e2e {

Figures::Figures(std::string_view name) : line_("e2e: " + std::string(name)) {}

Figures::~Figures() {
  std::cout << line_ << std::endl;
  std::ofstream(environment().state / "figures.txt", std::ios::app) << line_ << "\n";
}

Figures& Figures::add(std::string_view key, std::string_view value) {
  line_ += " " + std::string(key) + "=" + std::string(value);
  return *this;
}

Figures& Figures::add(std::string_view key, int value) { return add(key, std::to_string(value)); }

Figures& Figures::add(std::string_view key, double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << value;
  return add(key, text.str());
}

Figures& Figures::median(std::string_view key, const std::vector<double>& values) {
  const std::string name(key);
  const MedianInterval interval = median_interval(values);
  return add(name, interval.median)
      .add(name + "_low", interval.low)
      .add(name + "_high", interval.high);
}

Figures& Figures::spread(std::string_view key, const std::vector<double>& values) {
  const std::string name(key);
  return add(name + "_p50", percentile(values, 50))
      .add(name + "_p99", percentile(values, 99))
      .add(name + "_max", percentile(values, 100));
}

MedianInterval median_interval(std::vector<double> values) {
  constexpr double kBeyondOneEnd = 0.025;
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t count = values.size();
  double chance = std::pow(0.5, static_cast<double>(count));
  double sum = chance;  // that at most `below` of the values lie below the median
  std::size_t below = 0;
  while (below < count / 2) {
    chance *= static_cast<double>(count - below) / static_cast<double>(below + 1);
    if (sum + chance > kBeyondOneEnd) break;
    sum += chance;
    ++below;
  }
  const std::size_t left_out = sum > kBeyondOneEnd ? 0 : below;
  const double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
  return {.low = values[left_out], .median = median, .high = values[count - 1 - left_out]};
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * count));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace tangram::e2e
