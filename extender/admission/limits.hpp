#pragma once

#include "kube/pod_manifest.hpp"

#include <cstddef>
#include <string>

/// Limits on what is read and looked at. The API server checks a pod after the webhooks changed it,
/// so any client that may create pods can send 3 MiB of containers or annotations; and any client
/// that reaches the webhook's port can send 40 MiB.
namespace tangram::extender {

inline constexpr std::size_t kMaxContainers = 1000;         // a node runs 110 pods by default
inline constexpr std::size_t kMaxRequestAnnotations = 200;  // 16 containers have 6 each, and 6 more
/// The API server's time for a CEL expression over annotations grows with the square of their
/// number: 1,000 take 5 ms, and the 84,000 that fit into a pod 17 s. The match conditions and
/// policies in deploy/ look at no more; a real pod has some dozens.
inline constexpr std::size_t kMaxAnnotations = 1000;
/// Entries in the limits and requests of all containers, for the same reason: 1,000 containers have
/// five each.
inline constexpr std::size_t kMaxResources = 5000;
/// Of a resource's name: what the API server allows in front of the slash and behind it. What a
/// message or a glob repeats of it is then bounded.
inline constexpr std::size_t kMaxResourceName = 253 + 1 + 63;
/// Names and values together: the API server's own limit (TotalAnnotationSizeLimitB).
inline constexpr std::size_t kMaxAnnotationBytes = std::size_t{256} << 10;
/// Annotations that are read, so that those of a stored pod are known whatever their number: that
/// limit has room for 88,704 different names without values.
inline constexpr std::size_t kMaxKnownAnnotations = 90'000;
/// Entries of NVIDIA_VISIBLE_DEVICES in one container, where one is enough. To take one out of a
/// list costs the API server a copy of the list.
inline constexpr std::size_t kMaxVisibleDevices = 8;
/// Keys of taints that a pod's tolerations name; a real pod has a handful. A pod with more gets
/// none from Tangram.
inline constexpr std::size_t kMaxTolerated = 100;
/// How many mistakes and how many warnings are kept: model::Mistakes shows as many.
inline constexpr std::size_t kMaxNotes = 20;

/// What of a pod is kept while a review is read: the rest is counted at most. A label, a selector
/// or a variable that admission looks at must be named there.
[[nodiscard]] const kube::ManifestScope& admission_scope();

/// Why the pod is not looked into, with what to write; "" = it is.
[[nodiscard]] std::string too_large(const kube::PodManifest& pod);

}  // namespace tangram::extender
