#pragma once

#include "base/json.hpp"
#include "bench/measure/measure.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace tangram::bench {

/// Rows of "name  value" and the same as JSON.
class Figures {
 public:
  void add(std::string_view name, double value) { rows_.emplace_back(name, value); }
  [[nodiscard]] Report report() const {
    Report report;
    json::Writer out(report.json);
    out.begin_object();
    for (const auto& [name, value] : rows_) {
      report.text += fmt::format("{:<24} {:>10.3f}\n", name, value);
      out.key(name).number(value);
    }
    out.end_object();
    return report;
  }

 private:
  std::vector<std::pair<std::string, double>> rows_;
};

}  // namespace tangram::bench
