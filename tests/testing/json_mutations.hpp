#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::testing {

using JsonPlace = std::pair<std::size_t, std::size_t>;  ///< [begin, end) in a text

/// Where the string that begins at `at` ends.
inline std::size_t json_string_end(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

/// The end of the string, number or literal that begins at `at`.
inline std::size_t json_scalar_end(std::string_view text, std::size_t at) {
  if (text[at] == '"') return json_string_end(text, at);
  return std::min(text.find_first_of(",]} \n", at), text.size());
}

/// Where each value of a valid JSON text stands: members and elements, containers included, keys
/// not.
inline std::vector<JsonPlace> json_values(std::string_view text) {
  std::vector<JsonPlace> values;
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view c = text.substr(at, 1);
    if (c == "{" || c == "[") {
      open.push_back(at++);
    } else if (c == "}" || c == "]") {
      values.emplace_back(open.back(), ++at);
      open.pop_back();
    } else if (c.find_first_of(",: \n") == 0) {
      ++at;
    } else {
      const std::size_t end = json_scalar_end(text, at);
      const bool is_key = text.substr(end, 1) == ":";
      if (!is_key) values.emplace_back(at, end);
      at = end;
    }
  }
  return values;
}

/// The text with what stands in [begin, end) replaced.
inline std::string with(std::string_view text, JsonPlace place, std::string_view replacement) {
  std::string changed(text.substr(0, place.first));
  changed.append(replacement).append(text.substr(place.second));
  return changed;
}

}  // namespace tangram::testing
