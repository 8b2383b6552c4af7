#pragma once

#include "kube/pod_manifest.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The variable by which NVIDIA's container runtime selects the cards that a container sees.
///
/// CUDA images carry "all", so on a node with that runtime a container without a request sees
/// every card, unless its pod sets it: an entry of the pod's own wins over the image's and
/// over what a device plugin sets. In a list with equal names the later entry wins (kubelet hands
/// all of them on in order, the runtime keeps the last). A CDI device wins over all of them.
/// A container with a request gets "void", too: kubelet can start it without its device, when the
/// pod is deleted at that moment.
namespace tangram::extender {

inline constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
/// No card, and none of the driver's files.
inline constexpr std::string_view kNoDevices = "void";

/// Amounts of a card, and names that a node counts but no device plugin gives cards for. They do
/// not stand for a card: a container that has one of them alone can start without a device, and
/// would see every card. The policy tangram-hidden-cards has the same names; a star as in
/// AdmissionSettings::card_resources.
inline constexpr std::array<std::string_view, 8> kAmountResources{
    "nvidia.com/gpumem*", "nvidia.com/gpucores",  // HAMi; its webhook adds nvidia.com/gpu: 1
    "volcano.sh/vgpu-memory*", "volcano.sh/vgpu-cores", "aliyun.com/gpu-count",
    "aliyun.com/gpu-core*",       // gpushare: only gpu-mem has a plugin
    "tencent.com/vcuda-memory*",  // GPU manager: its plugin for memory gives nothing
    // Koordinator: its scheduler chooses the card and its runtime hook gives it. Another scheduler,
    // which the pod may name, sees a number on the node.
    "koordinator.sh/gpu*"};

/// A container may have no more of a resource that stands for cards. kube-scheduler and kubelet
/// count in 64 bits without a check: they see 10E as 0, and its sum with 1 as less than 0. Where
/// the sum of a node's pods is below 0, other pods fit that request what the node does not have.
/// It takes 900 pods of 1,000 containers on one node to get there by as much as this, which is more
/// than the bytes of all cards of a node. The policy tangram-card-amounts has the same number.
inline constexpr std::int64_t kMostOfAResource = 10'000'000'000'000;  // "10T"

[[nodiscard]] inline bool sets_visible_devices(const kube::Variable& variable) {
  return variable.name == kVisibleDevices;
}

/// Must the variable hide all cards from the container? Not if it sets it itself, and not if
/// it holds a resource of another GPU system, whose plugin sets it. Nor if that is an amount alone:
/// the system's own webhook, called later, may add the card, and the variable would hide that, too.
/// @param card_resources  see AdmissionSettings
/// @param placed  the pod names its node itself. No scheduler has then checked that the node has
///                what the container requests, and kubelet ignores resources that it does not have
[[nodiscard]] bool wants_no_devices(const kube::ContainerManifest& container,
                                    const std::vector<std::string>& card_resources, bool placed);

/// Does nothing hide the node's cards from the container, and nothing choose some for it, after all
/// webhooks? As wants_no_devices(), but a slot is a reason, too: the agent of the node chooses. An
/// amount alone is none.
[[nodiscard]] bool is_exposed(const kube::ContainerManifest& container,
                              const std::vector<std::string>& card_resources, bool placed);

/// The first resource with its quantity by which the container holds cards of another GPU system;
/// null if there is none. A quantity of 0 holds nothing.
/// @param card_resources  see AdmissionSettings
[[nodiscard]] const kube::StringMap::value_type* other_cards(
    const kube::ContainerManifest& container, const std::vector<std::string>& card_resources);

/// The first resource that stands for cards and exceeds kMostOfAResource, with its quantity; null
/// if there is none. A slot stands for cards, too. A quantity that cannot be read here counts as
/// too much, because Kubernetes reads larger numbers.
/// @param card_resources  see AdmissionSettings
[[nodiscard]] const kube::StringMap::value_type* too_many_cards(
    const kube::ContainerManifest& container, const std::vector<std::string>& card_resources);

/// The first annotation by which the NRI plugin of NVIDIA's container toolkit gives a pod's
/// containers the CDI devices that it names; null if there is none. Anybody may write it, and the
/// devices may be cards. Those of the kind management.nvidia.com/gpu are none of such: the plugin
/// gives them in the namespaces of its operator only.
[[nodiscard]] const kube::StringMap::value_type* named_devices(const kube::StringMap& annotations);

/// Why the value of the variable cannot stay, with what to do; nothing = it can.
/// @param has_request  the container has one, so that the agent of its node decides what it sees
[[nodiscard]] std::optional<std::string> wrong_visible_devices(
    const kube::ContainerManifest& container, bool has_request);

}  // namespace tangram::extender
