#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::testing {

/// Where each value of a valid JSON text stands, [begin, end): members and elements, containers
/// included, keys not.
inline std::vector<std::pair<std::size_t, std::size_t>> json_values(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> values;
  std::vector<std::size_t> open;
  const auto string_end = [&](std::size_t at) {
    for (++at; text[at] != '"'; ++at) {
      if (text[at] == '\\') ++at;
    }
    return at + 1;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      open.push_back(at++);
    } else if (c == '}' || c == ']') {
      values.emplace_back(open.back(), ++at);
      open.pop_back();
    } else if (c == '"') {
      const std::size_t end = string_end(at);
      const bool is_key = end < text.size() && text[end] == ':';
      if (!is_key) values.emplace_back(at, end);
      at = end;
    } else if (c == ',' || c == ':' || c == ' ' || c == '\n') {
      ++at;
    } else {  // a number, true, false or null
      const std::size_t end = std::min(text.find_first_of(",]} \n", at), text.size());
      values.emplace_back(at, end);
      at = end;
    }
  }
  return values;
}

/// The text with what stands in [begin, end) replaced.
inline std::string with(std::string_view text, std::pair<std::size_t, std::size_t> place,
                        std::string_view replacement) {
  std::string changed(text.substr(0, place.first));
  changed.append(replacement).append(text.substr(place.second));
  return changed;
}

}  // namespace tangram::testing
