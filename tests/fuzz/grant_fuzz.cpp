#include "model/grant.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is a grant that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tangram::model::decode_grant;
  const auto grant = decode_grant(std::string(tangram::fuzz::text_of(data, size)));
  if (!grant) return 0;
  const auto again = decode_grant(encode(*grant));
  tangram::fuzz::require(again && *again == *grant);
  return 0;
}
