#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tangram::e2e {

/// One line of figures for the report: "e2e: NAME key=value …". The destructor prints it and
/// appends it to figures.txt.
class Figures {
 public:
  explicit Figures(std::string_view name);
  ~Figures();
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;

  Figures& add(std::string_view key, std::string_view value);
  Figures& add(std::string_view key, int value);
  /// With three significant decimals.
  Figures& add(std::string_view key, double value);
  /// The median, and between what it lies with a confidence of 95 %, as key, key_low and key_high.
  Figures& median(std::string_view key, const std::vector<double>& values);
  /// p50, p99 and the largest, each as key_p50 and so on.
  Figures& spread(std::string_view key, const std::vector<double>& values);

 private:
  std::string line_;
};

/// Between which of the values the median of all that could have been measured lies, with a
/// confidence of at least 95 % (the sign test); with fewer than six values, with less.
struct MedianInterval {
  double low = 0;
  double median = 0;
  double high = 0;
};
[[nodiscard]] MedianInterval median_interval(std::vector<double> values);

/// The smallest value that `percent` of all do not exceed; 0 if there is none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

}  // namespace tangram::e2e
