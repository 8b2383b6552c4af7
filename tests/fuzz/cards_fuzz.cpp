#include "model/cards.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// Any text: is refused, or is a list of cards that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::model;
  const auto cards = decode_cards({reinterpret_cast<const char*>(data), size});
  if (!cards) return 0;
  const auto again = decode_cards(encode_cards(*cards));
  if (!again || *again != *cards) std::abort();
  return 0;
}
