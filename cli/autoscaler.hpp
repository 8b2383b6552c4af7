#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "kube/api.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// `autoscaler`: what an autoscaler must know of the nodes of a group before there is one, so that
/// it adds one for a pod that requests cards. An autoscaler simulates kube-scheduler without
/// extenders: it compares slots and sums of aggregates, and no cards.
namespace tangram::cli {

/// Slots of a card that agents publish by default: --sharers-per-card of tangram-node.
inline constexpr std::int64_t kSlotsPerCard = 16;

/// A group of nodes, by description: the options of the command line.
struct NodeGroup {
  std::string from = {};           ///< a node of the group; the rest is then read there
  std::string instance_type = {};  ///< "p4d.24xlarge"
  std::string model = {};          ///< "A100-SXM4-80GB"
  std::string memory = {};         ///< of one card: "81559Mi"
  std::int64_t cards = 0;
  std::int64_t slots_per_card = kSlotsPerCard;
};

/// What such a node will have.
struct FutureNode {
  std::string instance_type = {};  ///< may be empty
  std::string model_label = {};
  std::int64_t cards = 0;
  std::int64_t slots = 0;
  struct Capacity {
    MilliGpu compute = {};
    Mebibytes memory = {};
    friend bool operator==(const Capacity&, const Capacity&) = default;
  };
  /// Nothing = its agent publishes no aggregates.
  std::optional<Capacity> aggregates = {};
  Mebibytes smallest_card = {};  ///< memory of the card that has least
  bool equal_cards = true;       ///< all have the same memory
};

/// @returns kInvalidArgument, with the option that is missing or wrong
Result<FutureNode> described_node(const NodeGroup& group);
/// A node like one that runs. Unhealthy and cordoned cards count: a new node's are neither.
/// @returns kNotFound     there is no such node, or its agent has published no cards or slots yet
///          kInvalidArgument, kUnavailable, kConflict  as list()
Result<FutureNode> node_like(kube::KubeApi& api, const NodeGroup& group);

/// For whom: "karpenter", "aws", "azure", "cluster-api", "headroom".
[[nodiscard]] const std::vector<std::string>& autoscaler_kinds();

/// What to apply or to set.
struct AutoscalerText {
  std::vector<std::string> objects = {};  ///< JSON; a List if several
  /// Tags: "name=value". Instead of objects, unless these are asked for.
  std::vector<std::string> tags = {};
  std::string note = {};  ///< what else to do; "" = nothing
};
/// @param ns  of the headroom's pods; "" = not named
/// @returns kInvalidArgument  the kind needs an instance type, or the aggregates
Result<AutoscalerText> autoscaler_text(std::string_view kind, const FutureNode& node,
                                       const std::string& ns);

}  // namespace tangram::cli
