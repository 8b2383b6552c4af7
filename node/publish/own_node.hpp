#pragma once

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "node/cards/card_labels.hpp"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tangram::node {

/// Annotations and labels of the agent's own Node; operators write the cordon, the agent the rest.

/// By which operators name the sharing configuration of a node: the label of NVIDIA's device
/// plugin.
inline constexpr std::string_view kSharingLabel = "nvidia.com/device-plugin.config";

/// By which operators name a node's settings of the agent: pool_settings.hpp.
inline constexpr std::string_view kPoolLabel = "tangram.dev/agent.config";

/// The vendor's labels of cards that the agent has written, with their values (node_labels.hpp).
inline constexpr std::string_view kWrittenLabels = "tangram.dev/written-labels";

/// The programs that start a node's containers, by status.nodeInfo; empty = not reported yet.
struct NodeSoftware {
  std::string kubelet;  ///< "v1.31.2"
  std::string runtime;  ///< "containerd://2.1.9", "cri-o://1.30.0"
};

/// The agent's own v1.Node: the members of its record.
struct OwnNode {
  std::string name;
  std::string uid;
  std::string version;                      ///< metadata.resourceVersion
  std::optional<std::string> cards;         ///< kCardsAnnotation
  std::optional<std::string> resizes = {};  ///< kResizesAnnotation
  std::string cordon;                       ///< kCordonAnnotation; empty = not there
  std::string drain = {};                   ///< kDrainAnnotation; empty = not there
  std::optional<std::string> gpu_label;
  std::optional<std::string> model_label;
  std::string pool = {};                           ///< kPoolLabel; empty = not there
  std::string sharing_choice;                      ///< kSharingLabel; empty = not there
  NodeLabels labels = {};                          ///< all others
  std::optional<std::string> written_labels = {};  ///< kWrittenLabels
  /// Labels that Node Feature Discovery lists as its own: it writes them for programs such as
  /// NVIDIA's GPU feature discovery.
  std::set<std::string, std::less<>> discovered = {};
  std::optional<KubeQuantity> milli;   ///< status.capacity of kMilliResource
  std::optional<KubeQuantity> memory;  ///< status.capacity of kMemoryResource
  std::set<std::string> foreign;       ///< is_other_plugins_gpu() resources with a capacity above 0
  NodeSoftware software;
};

/// @returns kInvalidArgument, with the path of the invalid member
Result<OwnNode> decode_own_node(std::string text);

/// Reads it from the API server.
/// @returns kNotFound, or kUnavailable for every other error: try again
Result<OwnNode> read_own_node(kube::KubeApi& api, std::string_view name,
                              std::chrono::milliseconds timeout);

/// Whether one resourceVersion is newer than another of the same kind of object. They are decimal
/// numbers of any length (CompareResourceVersion in k8s.io/apimachinery). "" is older than
/// everything.
[[nodiscard]] bool is_newer(std::string_view version, std::string_view than);

}  // namespace tangram::node
