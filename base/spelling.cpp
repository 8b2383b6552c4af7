#include "base/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tangram {

namespace {

/// Levenshtein's distance.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known,
                         std::size_t most_edits) {
  constexpr std::size_t kLongestName = 64;  // the distance takes quadratic time
  if (name.size() > kLongestName) return {};
  std::string_view best;
  std::size_t fewest = most_edits + 1;
  for (const std::string_view candidate : known) {
    const std::size_t count = edits(name, candidate);
    if (count >= fewest) continue;
    fewest = count;
    best = candidate;
  }
  return best;
}

}  // namespace tangram
