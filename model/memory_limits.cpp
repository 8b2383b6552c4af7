#include "model/memory_limits.hpp"

#include "base/quote.hpp"
#include "base/spelling.hpp"

namespace tangram::model {

std::optional<MemoryLimits> parse_memory_limits(std::string_view text) {
  for (const MemoryLimits means : kAllMemoryLimits) {
    if (to_string(means) == text) return means;
  }
  return std::nullopt;
}

std::optional<MemoryLimits> parse_required_memory_limits(std::string_view text) {
  const auto means = parse_memory_limits(text);
  return means == MemoryLimits::kNone ? std::nullopt : means;
}

std::string not_memory_limits(std::string_view text) {
  return quote(text) + " is no means of memory limits; write " +
         alternatives(kRequirableMemoryLimits);
}

}  // namespace tangram::model
