#pragma once

#include "base/result.hpp"
#include "extender/admission/settings.hpp"
#include "extender/admission/translation.hpp"
#include "kube/pod_manifest.hpp"
#include "model/request.hpp"

#include <string_view>
#include <vector>

namespace tangram::extender {

/// What a pod requests of GPUs, read as the extender and the agents will read it: what mutate and
/// validate both start from.
struct PodRequest {
  /// Of another system's request; empty where there is none, or where it was done before.
  Translation translation = {};
  /// Tangram's annotations without the prefix, the translated ones included.
  model::Annotations annotations = {};
  /// The containers that kubelet will start with the pod, and what the parser knows of each.
  std::vector<const kube::ContainerManifest*> containers = {};
  std::vector<model::ContainerInfo> infos = {};
  Result<model::GpuRequest> request;
  /// The container of each part of the request; as many as the request has.
  std::vector<const kube::ContainerManifest*> requesters = {};

  [[nodiscard]] bool is_wrong() const { return !translation.mistakes.empty() || !request; }
  /// The container's part of the request; null if it has none, or if the request is wrong.
  [[nodiscard]] const model::ContainerRequest* of(const kube::ContainerManifest& container) const;
};

/// @param pod  not too_large(); outlives the result
[[nodiscard]] PodRequest read_pod_request(const kube::PodManifest& pod,
                                          const AdmissionSettings& settings);

/// "tangram.dev/gpu-..." without the prefix, for annotations of a pod's request; empty for
/// all others, and for the grant.
[[nodiscard]] std::string_view request_key(std::string_view annotation);

/// "1e3" and "1k" are the same; texts that are no quantities are so where they are equal.
[[nodiscard]] bool same_quantity(const std::string& a, const std::string& b);

}  // namespace tangram::extender
