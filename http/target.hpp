#pragma once

#include "base/result.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tangram::http {

/// The target of a request line, taken apart and decoded.
struct Target {
  std::string path;
  std::map<std::string, std::string, std::less<>> query;  ///< of equal names the first counts
};

/// Reads "/path?name=value&flag" and, as proxies write it, "http://host/path".
/// In the query, "+" is a space.
/// @returns kInvalidArgument for anything else, and for a "%" without two hex digits.
Result<Target> parse_target(std::string_view target);

/// What an Accept-Encoding header says about gzip: "gzip", "x;q=0.5, gzip;q=0.1"
/// and "*" accept it, "gzip;q=0" does not, nor does no header at all.
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);

}  // namespace tangram::http
