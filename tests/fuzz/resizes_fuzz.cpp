#include "model/resizes.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is an agent's answers that read back as themselves.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::model;
  const auto answers = decode_resizes(std::string(tangram::fuzz::text_of(data, size)));
  if (!answers) return 0;
  const auto again = decode_resizes(encode_resizes(*answers));
  tangram::fuzz::require(again && *again == *answers);
  return 0;
}
