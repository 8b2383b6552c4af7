#pragma once

#include "base/result.hpp"
#include "extender/admission/foreign.hpp"
#include "extender/admission/settings.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request.hpp"

#include <string_view>
#include <vector>

namespace tangram::extender {

/// Limits on what is looked at, before the API server has: it checks a pod after the webhooks
/// changed it, so anybody who may create pods can send 3 MiB of containers or annotations.
inline constexpr std::size_t kMaxContainers = 1000;         // a node runs 110 pods by default
inline constexpr std::size_t kMaxRequestAnnotations = 200;  // 16 containers have 6 each, and 5 more

/// What a pod asks of GPUs, read as the extender and the agents will read it: what mutate and
/// validate both start from.
struct Asked {
  /// From a peer's words; empty where there are none, or where it was done before.
  Translation translation;
  /// Tangram's annotations without the prefix, the translated ones included.
  model::Annotations annotations;
  /// The containers that kubelet will start with the pod, and what the parser was told of each.
  std::vector<const kube::ContainerManifest*> containers;
  std::vector<model::ContainerInfo> infos;
  Result<model::GpuRequest> request;
  /// Whose part of the request each is; as many as the request has.
  std::vector<const kube::ContainerManifest*> askers;

  [[nodiscard]] bool wrong() const { return !translation.mistakes.empty() || !request; }
  /// The container's part of the request; null if it has none, or if the request is wrong.
  [[nodiscard]] const model::ContainerRequest* of(const kube::ContainerManifest& container) const;
};

/// @param pod  outlives the result
[[nodiscard]] Asked read_asked(const kube::PodManifest& pod, const AdmissionSettings& settings);

/// "tangram.dev/gpu-..." without the prefix, for annotations that say what a pod asks; empty for
/// all others, and for the grant.
[[nodiscard]] std::string_view request_key(std::string_view annotation);

/// "1e3" and "1k" are the same; texts that are no quantities are so where they are equal.
[[nodiscard]] bool same_quantity(const std::string& a, const std::string& b);

}  // namespace tangram::extender
