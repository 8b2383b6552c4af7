#include "node/container/journal.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is an allocation that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto entry = node::decode_journal_entry(std::string(fuzz::text_of(data, size)));
  if (!entry) return 0;
  const auto again = node::decode_journal_entry(encode(*entry));
  fuzz::require(again && *again == *entry);
  return 0;
}
