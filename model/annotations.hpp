#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

/// Every name with Tangram's prefix: annotations and labels of pods and nodes, and resources. Each
/// is written here and nowhere else, except in texts for people that give an example.
namespace tangram::model {

/// The prefix of every annotation, label and resource that is Tangram's.
inline constexpr std::string_view kPrefix = "tangram.dev/";
/// How the keys of requests begin behind the prefix. Others are not looked at.
inline constexpr std::string_view kRequestPrefix = "gpu-";

/// "gpu-mem" of "tangram.dev/gpu-mem"; empty if the prefix is another.
[[nodiscard]] constexpr std::string_view key_of(std::string_view name) {
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : std::string_view();
}

/// The opposite.
[[nodiscard]] inline std::string full_name(std::string_view key) {
  return std::string(kPrefix).append(key);
}

// ---- Annotations of pods, without the prefix: what a pod requests. Arrays, since they become both
// std::string and std::string_view.

inline constexpr char kFractionKey[] = "gpu-fraction";
inline constexpr char kMemoryKey[] = "gpu-mem";
inline constexpr char kComputeKey[] = "gpu-compute";
inline constexpr char kCountKey[] = "gpu-count";
inline constexpr char kReplicaKey[] = "gpu-replica";
inline constexpr char kMemoryLimitKey[] = "gpu-mem-limit";
inline constexpr char kComputeLimitKey[] = "gpu-compute-limit";
inline constexpr char kModelKey[] = "gpu-model";
inline constexpr char kUuidKey[] = "gpu-uuid";
inline constexpr char kPolicyKey[] = "gpu-policy";
inline constexpr char kIsolationKey[] = "gpu-isolation";
inline constexpr char kMemoryLimitsKey[] = "gpu-memory-limits";
inline constexpr char kContainerKey[] = "gpu-container";

/// One annotation of a request.
struct RequestAnnotation {
  std::string_view key;
  bool per_container = false;  ///< "gpu-mem.NAME" is its form for the container NAME
  /// What it is as an option of a command that asks about one kind of pod; empty = no option.
  std::string_view option_type = {};
  std::string_view option_help = {};
};

/// All of them, in the order in which messages and help list them.
inline constexpr std::array<RequestAnnotation, 13> kRequestAnnotations{{
    {kFractionKey, true, "SHARE", "That share of one card's memory and compute: 0.5"},
    {kMemoryKey, true, "QUANTITY", "Memory of one card: 8Gi"},
    {kComputeKey, true, "SHARE", "With --gpu-mem, the share of compute: 0.3; 0 = best effort"},
    {kCountKey, true, "NUMBER", "That many different cards of one node"},
    {kReplicaKey, true, "RESOURCE",
     "One replica of a card as its node's sharing configuration cuts it: gpu, gpu.shared"},
    {kMemoryLimitKey, true},
    {kComputeLimitKey, true},
    {kModelKey, false, "GLOBS", "Globs of card models: 'A100*,H100*', '!T4'"},
    {kUuidKey, false, "GLOBS", "Globs of card UUIDs"},
    {kPolicyKey, false, "NAME", "Another policy than the cluster's"},
    {kIsolationKey, false, "MODE", "Another isolation mode than the cluster's default"},
    {kMemoryLimitsKey, false, "MEANS",
     "The weakest means of memory limits that is accepted: mps, library or driver"},
    {kContainerKey, false},
}};

/// Label of a pod: "true" = it may be moved, "false" = it may not. See `kubectl tangram defrag`.
inline constexpr std::string_view kMovableLabel = "tangram.dev/movable";

/// A pod's annotations under kPrefix, without the prefix: {"gpu-fraction": "0.5"}.
using Annotations = std::map<std::string, std::string, std::less<>>;

// ---- Other names, in full.

/// On a bound pod: its grant. See model/grant.hpp.
inline constexpr std::string_view kGrantAnnotation = "tangram.dev/gpu-grant";
inline constexpr std::string_view kGrantKey = key_of(kGrantAnnotation);

/// On a node: its cards, and which of them take no new pods.
inline constexpr std::string_view kCardsAnnotation = "tangram.dev/cards";
/// On a node: how far its agent has come with resizes of its pods. See model/resizes.hpp.
inline constexpr std::string_view kResizesAnnotation = "tangram.dev/resizes";
inline constexpr std::string_view kCordonAnnotation = "tangram.dev/cordon";
/// On a node, by an operator: ids of cards whose pods are to leave, with commas between.
inline constexpr std::string_view kDrainAnnotation = "tangram.dev/drain";
/// On a node: "true" where there are cards, and their model.
inline constexpr std::string_view kGpuLabel = "tangram.dev/gpu";
inline constexpr std::string_view kModelLabel = "tangram.dev/gpu-model";
/// On the extender's pods: which of them leads.
inline constexpr std::string_view kRoleLabel = "tangram.dev/role";

/// One per GPU container in its limits: the token by which kubelet calls the device plugin.
inline constexpr std::string_view kSlotResource = "tangram.dev/gpu-slot";
/// The cards of a node as Kubernetes itself counts them: two numbers that in-tree fit, quotas and
/// `kubectl describe node` see.
inline constexpr std::string_view kMilliResource = "tangram.dev/gpu-milli";
inline constexpr std::string_view kMemoryResource = "tangram.dev/gpu-mem-mib";
inline constexpr std::array kAggregateResources{kMilliResource, kMemoryResource};

}  // namespace tangram::model
