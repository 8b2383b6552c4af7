#include "model/replicas.hpp"

#include <algorithm>

namespace tangram::model {

std::optional<CardResource> parse_card_resource(std::string_view text) {
  const auto name = std::find(kCardResourceNames.begin(), kCardResourceNames.end(), text);
  if (name == kCardResourceNames.end()) return std::nullopt;
  return static_cast<CardResource>(name - kCardResourceNames.begin());
}

}  // namespace tangram::model
