#pragma once

#include "extender/admission/review.hpp"
#include "extender/admission/settings.hpp"
#include "kube/pod_manifest.hpp"
#include "model/memory_limits.hpp"

namespace tangram::extender {

/// For a new pod of a namespace whose label tangram.dev/min-memory-limits names the weakest means
/// of memory limits: a pod that asks for shares and says nothing gets it as its annotation
/// gpu-memory-limits; one that names a stronger means keeps that; one that names a weaker one is
/// refused, because a request is not changed where its author wrote something else. Whole cards
/// need no means. A pod whose request is wrong stays as it is: validate() reports why. Pure.
[[nodiscard]] AdmissionResponse require_memory_limits(const kube::PodManifest& pod,
                                                      const AdmissionSettings& settings,
                                                      model::MemoryLimits least);

}  // namespace tangram::extender
