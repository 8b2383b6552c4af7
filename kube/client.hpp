#pragma once

#include "kube/api.hpp"
#include "kube/objects.hpp"

#include <chrono>
#include <map>
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

/// @returns kNotFound, or kUnavailable for everything else: another try may mend it
Result<Pod> read_pod(KubeApi& api, std::string_view ns, std::string_view name,
                     std::chrono::milliseconds timeout);

/// The sentence in a metav1.Status body; the body itself (shortened) if it is not one.
[[nodiscard]] std::string status_message(const Response& response);

/// "/api/v1/namespaces/NS/pods/NAME", both percent-encoded.
[[nodiscard]] std::string pod_path(std::string_view ns, std::string_view name);

}  // namespace tangram::kube
