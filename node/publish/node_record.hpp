#pragma once

#include "base/result.hpp"
#include "model/resizes.hpp"
#include "node/cards/card_sharing.hpp"
#include "node/cards/card_source.hpp"
#include "node/pods/pod_requests.hpp"
#include "node/publish/other_drivers.hpp"
#include "node/publish/own_node.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// The desired contents of the agent's own Node, and the patches to them. Pure functions.
namespace tangram::node {

/// Cards as operators list them: "GPU-5f2a,MIG-77c1", or "all". Blanks are ignored. A name may have
/// a reason: "GPU-5f2a=its fan is loud,MIG-77c1".
struct CardNames {
  bool all = false;
  std::set<std::string, std::less<>> ids;
  std::map<std::string, std::string, std::less<>> reasons = {};  ///< by id

  /// Also true of a MIG instance whose physical card is named.
  [[nodiscard]] bool include(const model::Card& card) const;
  /// The reason of the card, or of its physical card; "" = none.
  [[nodiscard]] std::string_view reason_of(const model::Card& card) const;
  friend bool operator==(const CardNames&, const CardNames&) = default;
};
[[nodiscard]] CardNames parse_card_names(std::string_view text);

struct RecordSettings {
  /// Report kMilliResource and kMemoryResource.
  bool aggregates = true;
  /// Tangram's cards; nothing = all of them, unless another device plugin allocates cards of this
  /// node; then none. Cards that a DRA driver publishes are not Tangram's, either.
  std::optional<CardNames> own_cards = std::nullopt;
  /// Nothing = pods that count cards get whole ones.
  std::optional<CardSharing> sharing = std::nullopt;
};

/// A warning about the node: an event.
struct Notice {
  std::string reason;    ///< one word for programs: "CardsOwnedTwice"
  std::string sentence;  ///< the problem and what to do
  friend auto operator<=>(const Notice&, const Notice&) = default;
};

/// By whom else pods get, or may get, cards of this node.
struct OtherOwners {
  /// Resources of other device plugins by which pods have cards.
  std::set<std::string> resources;
  DriverCards drivers;
  friend bool operator==(const OtherOwners&, const OtherOwners&) = default;
};

/// What the Node says of its pods.
struct NodePods {
  CardRequests requested = {};  ///< by all pods that are bound to the node
  /// Of that, what pods do not have any more since they were resized: their resources still request
  /// it, since Kubernetes cannot change that.
  CardRequests released = {};
  model::ResizeAnswers resizes = {};
};

/// The desired contents of the Node.
struct NodeRecord {
  std::vector<model::Card> cards;
  std::string model_label;  ///< empty = no cards: neither label
  /// Of all installed cards, including unhealthy and cordoned ones, with what resized pods have
  /// released, and never less than running pods request: a restarting kubelet admits running pods
  /// again, and kills those that do not fit.
  struct Capacity {
    MilliGpu milli;
    Mebibytes memory;
    friend bool operator==(const Capacity&, const Capacity&) = default;
  };
  std::optional<Capacity> capacity;   ///< nothing = neither resource
  std::vector<Notice> notices;        ///< in order
  model::ResizeAnswers resizes = {};  ///< empty = no annotation
};

/// @returns kInvalidArgument if the cards annotation cannot represent a card
Result<NodeRecord> record_of(const CardsNow& now, const OwnNode& node, const NodePods& pods,
                             const OtherOwners& others, const RecordSettings& settings);

/// The cards in the Node, as record_of() was given them before the agent's restart. None if they
/// cannot be read.
[[nodiscard]] std::vector<model::Card> previous_cards(const OwnNode& node);

/// What is published of resizes. None if it cannot be read.
[[nodiscard]] model::ResizeAnswers previous_resizes(const OwnNode& node);

/// A card model as a label's value: at most 63 characters, letters and digits at both ends, only
/// those and "-_." between; "NVIDIA A100" is "NVIDIA-A100".
[[nodiscard]] std::string label_value(std::string_view model);

/// The merge patches from the node to the record; nothing = no difference. The first is for the
/// node itself, the second for its status. Both contain the UID: a Node that was created again
/// under the name must be read first.
[[nodiscard]] std::optional<std::string> metadata_patch(const OwnNode& node,
                                                        const NodeRecord& record);
[[nodiscard]] std::optional<std::string> capacity_patch(const OwnNode& node,
                                                        const NodeRecord& record);

}  // namespace tangram::node
