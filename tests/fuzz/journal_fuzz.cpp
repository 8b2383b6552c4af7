#include "node/container/journal.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is an allocation that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto allocation = node::decode_allocation(std::string(fuzz::text_of(data, size)));
  if (!allocation) return 0;
  const auto again = node::decode_allocation(encode(*allocation));
  fuzz::require(again && *again == *allocation);
  return 0;
}
