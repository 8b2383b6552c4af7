#include "base/split.hpp"

#include <boost/algorithm/string/split.hpp>

namespace tangram {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  boost::algorithm::split(parts, text, [separator](char c) { return c == separator; });
  return parts;
}

}  // namespace tangram
