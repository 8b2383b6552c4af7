#include "tests/tools/gpu_check/report.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace tangram::gpu_check {

void Report::expect_at_most(double figure, double mark, const std::string& unit,
                            const std::string& what) {
  expect(figure <= mark, what, decimal(figure) + " " + unit,
         "at most " + decimal(mark) + " " + unit);
}

bool Report::any_failed() const { return count("NOT REACHED") > 0; }

long Report::count(const std::string& result) const {
  return std::count_if(lines_.begin(), lines_.end(),
                       [&](const Line& line) { return line.result == result; });
}

void Report::add(const std::string& what, const std::string& seen, const std::string& mark,
                 const std::string& result) {
  lines_.push_back({what, seen, mark, result});
  std::cout << result << ": " << what << ": " << seen << (mark.empty() ? "" : "; " + mark)
            << std::endl;
}

void Report::print_table() const {
  std::size_t what = 0;
  std::size_t mark = 0;
  for (const Line& line : lines_) {
    what = std::max(what, line.what.size());
    mark = std::max(mark, line.mark.size());
  }
  const auto print = [&](const Line& line) {
    std::cout << std::left << std::setw(11) << line.result << "  "
              << std::setw(static_cast<int>(what)) << line.what << "  "
              << std::setw(static_cast<int>(mark)) << line.mark << "  " << line.seen << '\n';
  };
  std::cout << '\n';
  print({.what = "check", .seen = "figure", .mark = "mark", .result = "result"});
  for (const Line& line : lines_) print(line);
  std::cout << count("reached") << " reached, " << count("NOT REACHED") << " not reached, "
            << count("not offered") << " not offered, " << count("not checked") << " not checked"
            << std::endl;
}

std::string decimal(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << value;
  return text.str();
}

std::string in_mebibytes(double bytes) {
  const double mebibytes = bytes / (1U << 20U);
  const bool whole = std::floor(mebibytes) == mebibytes;
  return (whole ? std::to_string(std::llround(mebibytes)) : decimal(mebibytes)) + " MiB";
}

}  // namespace tangram::gpu_check
