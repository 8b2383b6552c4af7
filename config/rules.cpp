#include "config/rules.hpp"

#include "base/split.hpp"

namespace tangram::config {

std::optional<std::vector<std::string>> split_names(std::string_view text) {
  if (text.empty()) return std::vector<std::string>();
  std::vector<std::string> names = split(text, ',');
  if (std::find(names.begin(), names.end(), "") != names.end()) return std::nullopt;
  return names;
}

}  // namespace tangram::config
