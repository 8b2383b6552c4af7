#include "model/card_names.hpp"
#include "model/cards.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused, or is a list of cards that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram::model;
  const auto cards = decode_cards(std::string(tangram::fuzz::text_of(data, size)));
  if (!cards) return 0;
  for (const Card& card : *cards) {
    tangram::fuzz::require(is_card_id(card.id) && is_card_model(card.model));
  }
  const auto again = decode_cards(encode_cards(*cards));
  tangram::fuzz::require(again && *again == *cards);
  return 0;
}
