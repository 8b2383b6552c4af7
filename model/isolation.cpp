#include "model/isolation.hpp"

#include "base/quote.hpp"
#include "base/spelling.hpp"

namespace tangram::model {

std::optional<Isolation> parse_isolation(std::string_view text) {
  for (const Isolation mode : kAllIsolationModes) {
    if (to_string(mode) == text) return mode;
  }
  return std::nullopt;
}

std::string not_an_isolation(std::string_view text) {
  return quote(text) + " is not an isolation; write " + alternatives(kIsolationNames);
}

}  // namespace tangram::model
