#include "model/codec.hpp"

#include <algorithm>

namespace tangram::model::codec {

std::string text(json::Reader& in, std::size_t most) {
  const std::string_view value = in.string();
  if (value.size() > most) {
    in.fail("has " + std::to_string(value.size()) + " characters; at most " + std::to_string(most) +
            " are allowed");
    return {};
  }
  return std::string(value);
}

std::string name(json::Reader& in) {
  std::string value = text(in);
  if (value.empty()) in.fail("must not be empty");
  return value;
}

std::int64_t number(json::Reader& in, std::int64_t least, std::int64_t most) {
  const std::int64_t value = in.integer();
  if (!in.failed() && (value < least || value > most)) {
    in.fail("is " + std::to_string(value) + "; must be " + std::to_string(least) + " to " +
            std::to_string(most));
  }
  return value;
}

void version(json::Reader& in, std::int64_t known) {
  const std::int64_t value = in.integer();
  if (value > known) {
    in.fail("is " + std::to_string(value) + ", but this program knows only up to " +
            std::to_string(known) + "; upgrade it");
  } else if (value < known) {
    in.fail("is " + std::to_string(value) + "; must be " + std::to_string(known));
  }
}

void require(json::Reader& in, std::span<const std::string_view> seen,
             std::initializer_list<std::string_view> required) {
  for (const std::string_view key : required) {
    if (std::find(seen.begin(), seen.end(), key) == seen.end()) {
      return in.fail("member \"" + std::string(key) + "\" is missing");
    }
  }
}

}  // namespace tangram::model::codec
