#include "model/card.hpp"

#include <algorithm>

namespace tangram::model {

std::optional<CardKind> parse_card_kind(std::string_view text) {
  const auto name = std::find(kCardKindNames.begin(), kCardKindNames.end(), text);
  if (name == kCardKindNames.end()) return std::nullopt;
  return static_cast<CardKind>(name - kCardKindNames.begin());
}

}  // namespace tangram::model
