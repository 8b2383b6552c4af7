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
  /// p50, p99 and the largest, each as key_p50 and so on.
  Figures& spread(std::string_view key, const std::vector<double>& values);

 private:
  std::string line_;
};

/// The smallest value that `percent` of all do not exceed; 0 if there is none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

}  // namespace tangram::e2e
