#include "model/card.hpp"

namespace tangram::model {

std::string_view to_string(CardKind kind) {
  switch (kind) {
    case CardKind::kPhysical:
      return "physical";
    case CardKind::kMig:
      return "mig";
  }
  return "physical";
}

std::optional<CardKind> parse_card_kind(std::string_view text) {
  if (text == "physical") return CardKind::kPhysical;
  if (text == "mig") return CardKind::kMig;
  return std::nullopt;
}

}  // namespace tangram::model
