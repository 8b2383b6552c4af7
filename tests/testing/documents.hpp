#pragma once

#include "source_dir.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace tangram::testing {

/// The code block that begins with `start` in a file of docs/; empty if there is none.
inline std::string example_in(std::string_view document, std::string_view start) {
  std::ifstream in(std::string(TANGRAM_SOURCE_DIR "/docs/").append(document));
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto begin = text.find(start);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace tangram::testing
