#pragma once

#include "base/result.hpp"
#include "kube/api.hpp"
#include "node/kubelet/allocate_response.hpp"
#include "node/settings.hpp"

#include <string>
#include <string_view>

namespace tangram::node {

/// The programs that start a node's containers, by status.nodeInfo.
struct NodeSoftware {
  std::string kubelet;  ///< "v1.31.2"
  std::string runtime;  ///< "containerd://2.1.9", "cri-o://1.30.0"
};

/// @returns kUnavailable if the API server does not answer, or the Node has no such status yet
Result<NodeSoftware> read_node_software(kube::KubeApi& api, std::string_view node);

/// How the name of a CDI device can be passed to this node's runtime: the first of three ways that
/// works there.
///
///     cdi-devices     kubelet 1.29, in which device plugins may name CDI devices, with containerd
///                     1.7 or CRI-O 1.23, the first with CDI (off by default in containerd 1.7:
///                     enable_cdi = true; on in 2.0)
///     cdi-annotation  an older kubelet with such a runtime
///     env             the vendor's runtime, where the vendor's own CDI specs are
///
/// @returns kInvalidArgument if none does, with what to enable
Result<NamePath> choose_name_path(const NodeSoftware& software, const VendorRuntime& vendor,
                                  bool has_vendor_specs);

/// The setting, or the choice for this node, which is stored in the state folder. While the API
/// server does not answer, the stored choice: a wrong one would let containers start without cards.
/// @param reachable  the API server answered just now
Result<NamePath> find_name_path(const Settings& settings, kube::KubeApi& api, bool reachable);

}  // namespace tangram::node
