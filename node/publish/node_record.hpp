#pragma once

#include "base/result.hpp"
#include "node/cards/cards_now.hpp"
#include "node/pods/pod_requests.hpp"
#include "node/publish/own_node.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What must stand in the agent's own Node, and the writes that bring it there. Pure functions.
namespace tangram::node {

/// Cards as people list them: "GPU-5f2a,MIG-77c1", or "all". Blanks count for nothing. Behind a
/// name may stand why: "GPU-5f2a=its fan is loud,MIG-77c1".
struct CardNames {
  bool all = false;
  std::set<std::string, std::less<>> ids;
  std::map<std::string, std::string, std::less<>> reasons =
      {};  ///< of those of `ids` that have one

  /// Also true of a MIG instance whose physical card is named.
  [[nodiscard]] bool include(const model::Card& card) const;
  /// Why the card, or its physical card, is named; "" if nobody says.
  [[nodiscard]] std::string_view reason_of(const model::Card& card) const;
  friend bool operator==(const CardNames&, const CardNames&) = default;
};
[[nodiscard]] CardNames parse_card_names(std::string_view text);

struct RecordSettings {
  /// Report kMilliResource and kMemoryResource.
  bool aggregates = true;
  /// The cards that are Tangram's; nothing = all of them, unless another device plugin gives out
  /// cards of this node.
  std::optional<CardNames> own_cards = std::nullopt;
};

/// Something that people should know of the node: an event.
struct Notice {
  std::string reason;    ///< one word for programs: "CardsOwnedTwice"
  std::string sentence;  ///< what is wrong and what to do
  friend auto operator<=>(const Notice&, const Notice&) = default;
};

/// What must stand in the Node.
struct NodeRecord {
  std::vector<model::Card> cards;
  std::string model_label;  ///< empty = no cards: neither label
  /// Of all installed cards, whether healthy and free for pods or not: kubelet admits running pods
  /// anew when it restarts, and would kill those for whom there is no longer enough. So it is never
  /// less than they request, either.
  struct Capacity {
    MilliGpu milli;
    Mebibytes memory;
    friend bool operator==(const Capacity&, const Capacity&) = default;
  };
  std::optional<Capacity> capacity;  ///< nothing = neither resource
  std::vector<Notice> notices;       ///< in order
};

/// @param requested  by all pods that are bound to the node
/// @returns kInvalidArgument if a card is one that the cards annotation cannot carry
Result<NodeRecord> record_of(const CardsNow& now, const OwnNode& node,
                             const CardRequests& requested, const RecordSettings& settings);

/// The cards that the Node lists, as record_of() was given them: what the agent knew before its
/// restart. None if it lists none that can be read.
[[nodiscard]] std::vector<model::Card> previous_cards(const OwnNode& node);

/// A card model as a label's value: at most 63 characters, letters and digits at both ends, only
/// those and "-_." between; "NVIDIA A100" is "NVIDIA-A100".
[[nodiscard]] std::string label_value(std::string_view model);

/// The merge patches that make the node say what the record says; nothing = it does already. The
/// first is for the node itself, the second for its status. Both name the UID: a Node made anew
/// under the name is looked at first.
[[nodiscard]] std::optional<std::string> metadata_patch(const OwnNode& node,
                                                        const NodeRecord& record);
[[nodiscard]] std::optional<std::string> capacity_patch(const OwnNode& node,
                                                        const NodeRecord& record);

}  // namespace tangram::node
