#pragma once

#include "base/result.hpp"
#include "node/kubelet/allocate_response.hpp"

#include <string>
#include <vector>

namespace tangram::node {

/// One container that kubelet has given slots to, by kubelet's own record.
struct SlotOwner {
  std::string pod_uid;
  std::string container;
  std::vector<std::string> slots;  ///< sorted
  /// Of the CDI device in the response to Allocate; empty = another device plugin's response.
  std::string name = {};
  NamePath path = NamePath::kCdiDevices;  ///< how the name was passed
  friend bool operator==(const SlotOwner&, const SlotOwner&) = default;
};

/// Devices of another resource that kubelet has given to a pod.
struct DeviceUse {
  std::string pod_uid;
  std::string resource;
  std::vector<std::string> devices;  ///< ids, sorted
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};

/// Both in kubelet's order.
struct Checkpoint {
  std::vector<SlotOwner> slots;
  std::vector<DeviceUse> others;
};

/// Reads kubelet's checkpoint of device allocations
/// (/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint): the only record of slots by
/// pod UID that includes init containers. Kubelet writes it, by renaming, after every
/// Allocate, so it is current when it calls PreStartContainer. An entry stays until the first
/// Allocate after its pod has ended.
///
/// The format is internal to kubelet, the same since Kubernetes 1.20:
///
///     {"Data":{"PodDeviceEntries":[{"PodUID":"…","ContainerName":"…","ResourceName":"…",
///       "DeviceIDs":{"-1":["slot-3"]},"AllocResp":"base64 of ContainerAllocateResponse"}],…},…}
///
/// @param resource  of the slots; the responses of other plugins are not decoded
/// @returns kInvalidArgument if it is anything else
Result<Checkpoint> decode_checkpoint(std::string text, std::string_view resource);

/// Kubelet's name for the file, in its device plugin folder.
inline constexpr std::string_view kCheckpointFile = "kubelet_internal_checkpoint";

}  // namespace tangram::node
