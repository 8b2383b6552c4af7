#pragma once

#include "base/json.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What parsing leaves for json::Reader to walk. Internal to it.
namespace tangram::json {

enum class Token : std::uint8_t {
  kNull,
  kBool,
  kInteger,
  kTooLarge,  ///< an integer that int64 cannot hold
  kReal,
  kString,
  kKey,
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kEnd,
};

/// One token of the text. A container's first token knows where its last one is, so that skipping
/// costs nothing.
struct Entry {  // NOLINT(cppcoreguidelines-pro-type-member-init): one member of a union is enough
  Token token = Token::kEnd;
  std::uint32_t size = 0;  ///< of a text; for a container, the index of its closing token
  union {
    char* text;                ///< in the parsed text
    std::int64_t integer = 0;  ///< for a bracket, where it stands
    double real;
    bool truth;
  };

  [[nodiscard]] std::string_view view() const { return {text, size}; }
};
static_assert(sizeof(Entry) == 16, "the tape is what decoding costs in memory");

using Tape = std::vector<Entry>;

/// Parses the text in place. The tape ends with kEnd, and lives no longer than the text.
/// @param outline  what is read; null = all
/// @returns kInvalidArgument with the byte, for what Reader refuses; the text is changed then, too
[[nodiscard]] Result<Tape> parse(std::string& text, const Outline* outline);

}  // namespace tangram::json
