#include "config/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tangram::config {
namespace {

/// Letters to change, add or drop to turn one word into the other (Levenshtein).
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

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  // No setting's name is longer; a wild key must not cost quadratic time.
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t fewest = word.size() / 3 + 1;
  for (const auto candidate : candidates) {
    const std::size_t count = edits(word, candidate);
    if (count >= fewest) continue;
    fewest = count;
    best = candidate;
  }
  return best;
}

std::string alternatives(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace tangram::config
