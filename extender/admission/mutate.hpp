#pragma once

#include "extender/admission/pod_request.hpp"
#include "extender/admission/review.hpp"
#include "extender/admission/settings.hpp"
#include "kube/pod_manifest.hpp"

#include <vector>

namespace tangram::extender {

/// Makes a new pod schedulable. Adds what is missing, and changes what was written only where the
/// request says what it must be, so that the patched pod, reviewed again, needs nothing,
/// whatever another webhook put into it:
///
///     pod with a request      its default container pinned in gpu-container; scheduler, runtime
///                             class and node selector as configured; another system's request
///                             translated
///     container with a request  one slot and the aggregates, in limits and requests; aggregates
///                             that stand there otherwise, as from a LimitRange, give way;
///                             NVIDIA_VISIBLE_DEVICES=void, which its device overrides. Where
///                             another system's request was translated, other values give way
///     every other container     NVIDIA_VISIBLE_DEVICES=void, unless it sets it itself or another
///                             system gives it cards; 0 of the aggregates that a LimitRange gave it
///
/// A pod whose request is wrong stays as it is: validate() reports why. One that is too large is
/// refused (limits.hpp). Pure.
[[nodiscard]] AdmissionResponse mutate(const kube::PodManifest& pod,
                                       const AdmissionSettings& settings);

/// For ephemeral containers added to a running pod: they get no card, and should see none.
/// A pod that is too large is refused.
[[nodiscard]] AdmissionResponse mutate_ephemeral(const kube::PodManifest& pod,
                                                 const kube::PodManifest& old_pod,
                                                 const AdmissionSettings& settings);

/// The ephemeral containers that are new; those that were there cannot change any more.
[[nodiscard]] std::vector<const kube::ContainerManifest*> added_ephemerals(
    const kube::PodManifest& pod, const kube::PodManifest& old_pod);

}  // namespace tangram::extender
