#pragma once

#include "kube/pod_manifest.hpp"

#include <string_view>

/// LimitRanges of type Container write their default, or else their maximum, into every container
/// of a namespace, before any webhook is called.
namespace tangram::extender {

/// Did a LimitRange give the container the resource? The API server's LimitRanger records it in the
/// pod's annotation kubernetes.io/limit-ranger, as in
///
///     LimitRanger plugin set: tangram.dev/gpu-milli limit for container side; ...
///
/// Source: kubernetes, plugin/pkg/admission/limitranger. Authors could write it as well, and would
/// lose by it what they wrote beside.
[[nodiscard]] bool limit_range_gave(const kube::PodManifest& pod,
                                    const kube::ContainerManifest& container,
                                    std::string_view resource);

}  // namespace tangram::extender
