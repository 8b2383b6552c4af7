#include "model/card_names.hpp"
#include "model/grant_reading.hpp"
#include "tests/fuzz/fuzzing.hpp"

namespace {

using namespace tangram;
using fuzz::require;
using model::decode_grant;

/// What is signed is what is read: where the signature covers a grant, nothing comes from
/// elsewhere.
void check_signed(const std::string& text, const model::Grant& grant) {
  const auto parts = model::split_signature(text);
  if (!parts || parts->signature.find_first_of("\"\\") != std::string_view::npos) return;
  auto covered = decode_grant(parts->text);
  if (!covered) return;
  covered->signature = parts->signature;
  require(*covered == grant);
}

}  // namespace

/// Any text: is refused, or is a grant that reads back as itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto grant = decode_grant(text);
  if (!grant) return 0;
  for (const auto& container : grant->containers) {
    for (const auto& card : container.cards) require(model::is_card_id(card.uuid));
  }
  const auto again = decode_grant(encode(*grant));
  require(again && *again == *grant);
  check_signed(text, *grant);
  const auto parts = model::split_signature(encode(*grant));
  require(parts.has_value() == !grant->signature.empty());
  return 0;
}
