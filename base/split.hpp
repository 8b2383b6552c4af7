#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tangram {

/// The parts of the text between separators, empty parts included. A text without a separator is
/// one part, also if it is empty.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

}  // namespace tangram
