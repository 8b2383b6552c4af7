#include "model/cards.hpp"
#include "node/cards/file_source.hpp"
#include "tests/fuzz/fuzzing.hpp"

/// Any text: is refused with what to write, or lists cards that can be published.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tangram;
  const auto file = node::parse_card_file(std::string(fuzz::text_of(data, size)));
  if (!file) {
    fuzz::require(!file.error().message.empty());
    return 0;
  }
  std::vector<model::Card> cards;
  for (const node::InstalledCard& installed : file->inventory.cards) {
    fuzz::require(installed.total == installed.card.memory);
    cards.push_back(installed.card);
  }
  const auto published = model::decode_cards(model::encode_cards(cards));
  fuzz::require(published && *published == cards);
  return 0;
}
