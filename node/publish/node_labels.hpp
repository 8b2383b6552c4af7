#pragma once

#include "node/cards/card_labels.hpp"
#include "node/publish/own_node.hpp"

#include <optional>
#include <string>

/// The vendor's labels of cards in the agent's own Node. Pure functions.
namespace tangram::node {

struct LabelSettings {
  CardLabels labels;
  bool write = false;  ///< false = remove those that an earlier agent has written
};

/// The merge patch by which the Node has the labels; nothing = no difference.
///
/// The agent writes labels that the Node does not have, and changes and removes those that it has
/// written itself: the annotation kWrittenLabels lists them with their values, and is part of the
/// same patch. What has another value, or is listed by Node Feature Discovery, is another writer's.
/// Where the vendor's own program writes the labels, the agent writes none. While the driver does
/// not answer, the labels stay as they are.
///
/// The patch contains the UID and the version of the Node: between reading and writing, another
/// writer may come.
[[nodiscard]] std::optional<std::string> labels_patch(const CardsNow& now, const OwnNode& node,
                                                      const LabelSettings& settings);

}  // namespace tangram::node
