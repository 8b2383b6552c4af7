#pragma once

#include "base/result.hpp"
#include "node/kubelet/allocate_response.hpp"
#include "node/kubelet/container_runtime.hpp"

namespace tangram::node {

/// Whether the container runtime gives a container the device whose name kubelet passes it. What
/// the runtime does not say counts as yes: DeviceChecker ends containers without their device.
///
/// @param path         how the name is passed
/// @param names_class  the pod names a RuntimeClass, which may be the vendor's
/// @returns kUnavailable with what to set, if the container would start without its card
[[nodiscard]] Result<void> check_runtime(const RuntimeConfig& config, NamePath path,
                                         bool names_class, const VendorRuntime& vendor);

}  // namespace tangram::node
