#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"
#include "node/kubelet/allocation.hpp"

#include <string>
#include <string_view>

namespace tangram::node {

/// What a Node's status.nodeInfo says of the programs that start its containers.
struct NodeSoftware {
  std::string kubelet;  ///< "v1.31.2"
  std::string runtime;  ///< "containerd://2.1.9", "cri-o://1.30.0"
};

/// @returns kUnavailable if the API server does not say
Result<NodeSoftware> read_node_software(kube::KubeApi& api, std::string_view node);

/// How this node's runtime can be told of a CDI device: the first of the three ways that works
/// there.
///
///     cdi-devices     kubelet 1.29, since when plugins may name CDI devices, with containerd 1.7
///     or
///                     CRI-O 1.23, the first that know CDI (containerd 1.7 has it switched off:
///                     enable_cdi = true; 2.0 has it on)
///     cdi-annotation  an older kubelet with such a runtime
///     env             NVIDIA's runtime alone, where its own CDI specs are
///
/// @returns kInvalidArgument if none does, with what to enable
Result<NamePath> choose_name_path(const NodeSoftware& software, bool has_nvidia_specs);

}  // namespace tangram::node
