#pragma once

#include "extender/admission/review.hpp"
#include "kube/pod_manifest.hpp"

#include <optional>
#include <string>

/// Which users may write which annotations of a pod that is placed.
namespace tangram::extender {

/// Why a new pod cannot carry the grant that it carries; nothing = it carries none.
[[nodiscard]] std::optional<std::string> grant_on_new_pod(const kube::PodManifest& pod);

/// Why the grant cannot become what it is to be; nothing = it stays as it was.
[[nodiscard]] std::optional<std::string> grant_changed(const kube::PodManifest& pod,
                                                       const kube::PodManifest& old_pod);

/// Why a Binding that the extender did not make cannot carry the annotations it carries; nothing =
/// none of them is Tangram's.
[[nodiscard]] std::optional<std::string> tangram_annotation_of_binding(
    const kube::StringMap& annotations);

/// Why the extender cannot make this change of a pod: it may replace the grant of a bound pod by a
/// revision of it. Nothing = it is that.
[[nodiscard]] std::optional<std::string> no_revision(const kube::PodManifest& pod,
                                                     const kube::PodManifest& old_pod);

/// The annotations of the pod's request that differ, one message for all of them; empty = none
/// differs.
struct ChangedRequests {
  std::string all;
  std::string fixed;  ///< those that cannot change once the pod is bound
};
[[nodiscard]] ChangedRequests changed_requests(const kube::PodManifest& pod,
                                               const kube::PodManifest& old_pod);

}  // namespace tangram::extender
