#pragma once

#include "extender/admission/review.hpp"
#include "kube/pod_manifest.hpp"
#include "model/grant_reading.hpp"

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
/// revision of it, or repair it, and change nothing else. Nothing = it is that.
///
/// A repair writes a revision over what somebody has made of the grant: over nothing, a text that
/// is no grant, or a grant of another pod or node. With keys, a grant that none of them signed is
/// as good as none, and a repair is signed by one. Without keys nothing tells a grant that somebody
/// forged for this pod and node from a genuine one, so it is only revised: nobody with the
/// extender's token puts other cards, or an earlier, larger share, in the place of a genuine grant.
/// Where nothing tells the former revision, agents do: they journal it and take no earlier one. A
/// revision and a repair are of containers with a slot: other pods were never given cards.
///
/// @param check  whose signature a text carries; empty = no keys are known
[[nodiscard]] std::optional<std::string> no_revision(const kube::PodManifest& pod,
                                                     const kube::PodManifest& old_pod,
                                                     const model::SignatureCheck& check);

/// The annotations of the pod's request that differ, one message for all of them; empty = none
/// differs.
struct ChangedRequests {
  std::string all;
  std::string fixed;  ///< those that cannot change once the pod is bound
};
[[nodiscard]] ChangedRequests changed_requests(const kube::PodManifest& pod,
                                               const kube::PodManifest& old_pod);

}  // namespace tangram::extender
