#pragma once

#include "node/cards/card_source.hpp"

#include <memory>

namespace tangram::node {

/// What is known of the node's cards at a moment; never changed once made.
struct CardsNow {
  Inventory inventory;   ///< each card with `healthy` and `unavailable_reason` as judged
  bool answers = false;  ///< the source did when last asked; if not, the cards are from before
};
using CardsPtr = std::shared_ptr<const CardsNow>;

}  // namespace tangram::node
