#pragma once

#include "model/card.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// What pods that count cards get on this node, by the configuration files of a vendor's device
/// plugin. Immutable; threads: any.
struct CardSharing {
  int most_replicas = 1;  ///< of a card, in any of the files: each needs a slot
  /// Sets Card::replicas of each card.
  /// @param choice  the Node's label that names the file; "" = none
  /// @returns what of the configuration cannot be done as it says, for people; empty = all is done
  std::function<std::vector<std::string>(std::string_view choice, std::vector<model::Card>& cards)>
      apply;
};

}  // namespace tangram::node
