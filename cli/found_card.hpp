#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"
#include "model/card.hpp"
#include "node/publish/own_node.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// A card that an operator names, on the node that lists it, and the node's cordon annotation.
namespace tangram::cli {

/// The card as it was written: its UUID, or the node and the UUID.
struct NamedCard {
  std::string text;
  std::string node;  ///< "" = the one that lists it
  std::string uuid;
};
/// No name of a node and no UUID has a slash.
[[nodiscard]] NamedCard named_card(const std::string& text);

/// A node and one of its cards.
struct FoundCard {
  node::OwnNode node;
  bool listed = true;  ///< else only its annotations name the card, and there is only its id
  /// Of a physical card that is not listed since it is in MIG mode: one of its instances with the
  /// id of the card.
  model::Card card;
  std::vector<model::Card> cards;  ///< all of the node's
};

/// "card GPU-1 (A100) of node a".
[[nodiscard]] std::string card_name(const FoundCard& found);

/// Which nodes have the card?
enum class CardSearch {
  kListed,   ///< those that list it
  kOrNamed,  ///< if there is none, those whose annotations tangram.dev/cordon or drain name it: it
             ///< was replaced, or came to another node
};

/// What to do with the card: annotations to write, if any, and the sentence to print then.
struct CordonStep {
  std::string sentence;
  std::optional<std::string> annotation = std::nullopt;
  std::optional<std::string> drain = std::nullopt;  ///< model::kDrainAnnotation, with it; "" = none
};
/// Finds the card and writes the annotations, again while other writes to the node come between.
/// @returns the step's sentence; as list() and `decide`;
///          kNotFound  no node has the card; the message names cards with this prefix
///          kConflict  several nodes have it, or others never stop writing
Result<std::string> change_cordon(
    kube::KubeApi& api, const NamedCard& named, CardSearch search,
    const std::function<Result<CordonStep>(const FoundCard&)>& decide);

}  // namespace tangram::cli
