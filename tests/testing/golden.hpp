#pragma once

#include "source_dir.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tangram::testing {

/// A file under tests/data, without the line end that closes it.
inline std::string golden(const std::string& path) {
  const std::string full = std::string(TANGRAM_SOURCE_DIR) + "/tests/data/" + path;
  const std::ifstream file(full, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) throw std::runtime_error("cannot read " + full);
  std::string content = text.str();
  if (content.back() == '\n') content.pop_back();
  return content;
}

}  // namespace tangram::testing
