#pragma once

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tangram::testing {

/// A page in the Prometheus text format, read strictly: every sample stands under the HELP and
/// TYPE of its family, a family comes once, a series comes once.
class Exposition {
 public:
  explicit Exposition(const std::string& page) {
    if (!page.empty() && page.back() != '\n') throw std::runtime_error("no line end at the end");
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) take(line);
  }

  /// By "name{labels}", as written.
  [[nodiscard]] const std::map<std::string, std::string>& samples() const { return samples_; }
  [[nodiscard]] const std::map<std::string, std::string>& types() const { return types_; }
  /// @throws std::out_of_range if there is no such series
  [[nodiscard]] double value(const std::string& series) const {
    const auto found = samples_.find(series);
    if (found == samples_.end()) throw std::out_of_range("no series " + series);
    return std::stod(found->second);
  }

 private:
  void take(const std::string& line) {
    if (line.starts_with("# HELP ")) return begin_family(line.substr(7));
    if (line.starts_with("# TYPE ")) return type_family(line.substr(7));
    const std::size_t space = line.rfind(' ');
    if (space == std::string::npos) throw std::runtime_error("not a sample: " + line);
    const std::string series = line.substr(0, space);
    const std::string name = series.substr(0, series.find('{'));
    const bool of_family =
        !family_.empty() && name.starts_with(family_) && types_.contains(family_);
    const std::string_view suffix = std::string_view(name).substr(of_family ? family_.size() : 0);
    const bool known =
        suffix.empty() || suffix == "_bucket" || suffix == "_sum" || suffix == "_count";
    if (!of_family || !known) throw std::runtime_error("a sample outside of its family: " + line);
    (void)std::stod(line.substr(space + 1));
    if (!samples_.emplace(series, line.substr(space + 1)).second) {
      throw std::runtime_error("a series twice: " + series);
    }
  }

  void begin_family(const std::string& rest) {
    family_ = rest.substr(0, rest.find(' '));
    if (rest.size() <= family_.size() + 1) throw std::runtime_error("no help: " + rest);
    if (types_.contains(family_)) throw std::runtime_error("a family twice: " + family_);
  }
  void type_family(const std::string& rest) {
    if (!rest.starts_with(family_ + " ")) throw std::runtime_error("TYPE without HELP: " + rest);
    if (!types_.emplace(family_, rest.substr(family_.size() + 1)).second) {
      throw std::runtime_error("a TYPE twice: " + rest);
    }
  }

  std::string family_;
  std::map<std::string, std::string> samples_;
  std::map<std::string, std::string> types_;
};

}  // namespace tangram::testing
