#include "base/base64.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <algorithm>

/// Any bytes survive the way there and back; any text is refused, or stands for the bytes that it
/// would stand for without its line ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const std::string input(fuzz::text_of(data, size));
  fuzz::require(base64_decode(base64_encode(input)) == input);

  const auto bytes = base64_decode(input);
  if (!bytes) return 0;
  std::string plain = input;
  std::erase_if(plain, [](char c) { return c == '\n' || c == '\r'; });
  fuzz::require(base64_decode(plain) == bytes);
  fuzz::require(base64_encode(*bytes).size() == plain.size());
  return 0;
}
