#pragma once

#include "base/result.hpp"
#include "node/publish/own_node.hpp"
#include "node/settings.hpp"

namespace tangram::node {

/// How the name of a CDI device can be passed to this node's runtime: the first way that works
/// there.
///
///     cdi-devices     kubelet 1.29, in which device plugins may name CDI devices, with containerd
///                     1.7 or CRI-O 1.23, the first with CDI (off by default in containerd 1.7:
///                     enable_cdi = true; on in 2.0)
///     cdi-annotation  an older kubelet with such a runtime
///
/// The third way, the variable of the vendor's own runtime, is only for an administrator to choose:
/// the webhook sets that variable in every container, so that none sees a card before its own, and
/// the pod's value replaces the name.
///
/// @returns kInvalidArgument if neither works, with what to enable
Result<NamePath> choose_name_path(const NodeSoftware& software, const VendorRuntime& vendor);

/// The setting, or the choice for this node, which is stored in the state folder. While the API
/// server does not answer, the stored choice: a wrong one would let containers start without cards.
/// @returns kInvalidArgument also if the setting is the variable, and the vendor's runtime takes no
///          names there
/// @param node  as the API server answered just now, or its error
Result<NamePath> find_name_path(const Settings& settings, const Result<OwnNode>& node);

}  // namespace tangram::node
