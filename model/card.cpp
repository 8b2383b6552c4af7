#include "model/card.hpp"

namespace tangram::model {

std::string_view to_string(Isolation mode) {
  switch (mode) {
    case Isolation::kMps:
      return "mps";
    case Isolation::kTimeSlice:
      return "time-slice";
    case Isolation::kNone:
      return "none";
  }
  return "none";
}

std::optional<Isolation> parse_isolation(std::string_view text) {
  for (const Isolation mode : kAllIsolationModes) {
    if (to_string(mode) == text) return mode;
  }
  return std::nullopt;
}

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
