#pragma once

#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// The requests Tangram makes, each one a function over KubeApi.
namespace tangram::kube {

/// Binds a pod: one POST that sets the node and merges the annotations in one write.
struct Binding {
  std::string ns;
  std::string name;
  std::string uid;  ///< precondition: a pod made anew under the name is another pod
  std::string node;
  std::map<std::string, std::string> annotations;  ///< full names
};

/// @returns kNotFound  404: the pod is gone
///          kConflict  409: bound already, being deleted, gated, or another UID
///          kInvalidArgument  another 4xx, with the server's message
///          kUnavailable  429 or nothing was sent: not applied
///          kTimeout  5xx, or no answer: the outcome is unknown, read the pod
Result<void> bind_pod(KubeApi& api, const Binding& binding, std::chrono::milliseconds timeout);

/// Changes one annotation of a pod: one PATCH.
struct PodAnnotation {
  std::string ns;
  std::string name;
  std::string uid;               ///< precondition, as in Binding
  std::string resource_version;  ///< precondition: the pod has not changed since it was read
  std::string annotation;        ///< full name
  std::string value;
};

/// @returns as bind_pod(); kConflict: the pod has changed
Result<void> annotate_pod(KubeApi& api, const PodAnnotation& change,
                          std::chrono::milliseconds timeout);

/// Which pod to evict: one POST to its eviction subresource (policy/v1), which budgets may refuse.
struct Eviction {
  std::string ns;
  std::string name;
  std::string uid;  ///< precondition: a pod made anew under the name is another pod
  /// Nothing is evicted: the answer says what would come of it, its budgets included.
  bool dry_run = false;
};

/// What came of it. A pod that is evicted is being deleted; it may take its grace to go.
enum class EvictionOutcome {
  kEvicted,
  kGone,     ///< 404, or 409: there is no such pod any more. For another UID kube-apiserver 1.36
             ///< answers so after 10 s only; a caller with a shorter timeout sees kFailed
  kRefused,  ///< 429: a disruption budget does not allow it now, or the server is busy
  kFailed    ///< anything else, no answer included
};
struct EvictionAnswer {
  EvictionOutcome outcome = EvictionOutcome::kFailed;
  std::string message;  ///< why not; empty = evicted
  std::optional<std::chrono::seconds> retry_after = std::nullopt;
};
EvictionAnswer evict_pod(KubeApi& api, const Eviction& eviction, std::chrono::milliseconds timeout);

/// Sets status.nominatedNodeName of a pod that waits for others to leave a node: one PATCH.
struct Nominated {
  std::string ns;
  std::string name;
  std::string uid;   ///< precondition, as in Binding
  std::string node;  ///< empty = no more
};
/// @returns as bind_pod(), but kInvalidArgument for another UID
Result<void> nominate_pod(KubeApi& api, const Nominated& pod, std::chrono::milliseconds timeout);

/// @returns kNotFound, or kUnavailable for everything else: another try may succeed
Result<Pod> read_pod(KubeApi& api, std::string_view ns, std::string_view name,
                     std::chrono::milliseconds timeout);

/// The version of a kind of object at this moment, by a list of at most one of them.
/// @param query  selectors, as of the list that is meant: the caller may have no right to others
/// @returns kUnavailable: another try may succeed
Result<std::string> list_version(KubeApi& api, const std::string& path,
                                 std::map<std::string, std::string> query,
                                 std::chrono::milliseconds timeout);

/// The sentence in a metav1.Status body; the body itself (shortened) if it is not one.
[[nodiscard]] std::string status_message(const Response& response);

/// "/api/v1/namespaces/NS/pods/NAME", both percent-encoded.
[[nodiscard]] std::string pod_path(std::string_view ns, std::string_view name);

}  // namespace tangram::kube
