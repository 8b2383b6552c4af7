#pragma once

#include "node/cards/card_source.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tangram::node {

/// Labels of a Node, by name.
using NodeLabels = std::map<std::string, std::string, std::less<>>;

/// Labels of the Node by which pods select a vendor's cards, as a program of the vendor writes
/// them. Immutable; threads: any.
struct CardLabels {
  /// The label that shows that the vendor's program runs on the node and writes the others itself.
  std::string_view of_vendors_program;
  /// Whether it is one of the labels. No other one is written or removed.
  bool (*covers)(std::string_view name) = nullptr;
  /// @param choice  the Node's label that names the sharing configuration; "" = none
  std::function<NodeLabels(const Inventory& inventory, std::string_view choice)> of;
};

}  // namespace tangram::node
