#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tangram::config {

/// The candidate that `word` is most likely a misspelling of: the fewest letters changed, added or
/// dropped, at most one in three. Ties go to the first. Empty if none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       const std::vector<std::string_view>& candidates);

/// "a, b or c"
[[nodiscard]] std::string alternatives(const std::vector<std::string_view>& words);

}  // namespace tangram::config
