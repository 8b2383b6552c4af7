#pragma once

#include "model/node_state.hpp"

#include <string_view>

/// What kube-scheduler itself requires of a node, as far as the ledger knows it: CPU, memory and
/// slots. It also looks at taints, affinity, volumes and more.
namespace tangram::cluster {

/// kube-scheduler's reason against the node, without numbers. Pure.
/// @returns empty if there is none
[[nodiscard]] std::string_view in_tree_misfit(const model::Footprint& needs,
                                              const model::NodeState& node);

/// What in_tree_misfit() says of a node whose kubelet offers no slot at all.
inline constexpr std::string_view kNoSlots =
    "node offers no tangram.dev/gpu-slot: its agent does not run, or is not registered with "
    "kubelet";
/// What to do about it.
inline constexpr std::string_view kSeeAgents =
    "See `kubectl get pods --all-namespaces -l app.kubernetes.io/name=tangram-node -o wide`";

}  // namespace tangram::cluster
