#include "tests/tools/gpu_check/report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace tangram::gpu_check {

bool Report::any_failed() const {
  return std::find(verdicts_.begin(), verdicts_.end(), "FAILED") != verdicts_.end();
}

void Report::add(const std::string& what, const std::string& verdict, const std::string& seen) {
  verdicts_.push_back(verdict);
  std::cout << std::left << std::setw(58) << what << "  " << std::setw(12) << verdict << "  "
            << seen << std::endl;
}

std::string decimal(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << value;
  return text.str();
}

}  // namespace tangram::gpu_check
