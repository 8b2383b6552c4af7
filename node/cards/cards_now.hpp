#pragma once

#include "node/cards/card_source.hpp"

#include <memory>

namespace tangram::node {

/// The node's cards at a moment. Immutable.
struct CardsNow {
  Inventory inventory;   ///< each card with its health
  bool answers = false;  ///< the source does; if not, the cards are from before
};
using CardsPtr = std::shared_ptr<const CardsNow>;

}  // namespace tangram::node
