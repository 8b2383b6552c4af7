#include "config/rules.hpp"

#include "base/split.hpp"

#include <algorithm>
#include <cctype>

namespace tangram::config {

std::optional<std::vector<std::string>> split_names(std::string_view text) {
  if (text.empty()) return std::vector<std::string>();
  std::vector<std::string> names = split(text, ',');
  if (std::find(names.begin(), names.end(), "") != names.end()) return std::nullopt;
  return names;
}

bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '/';
  });
}

}  // namespace tangram::config
