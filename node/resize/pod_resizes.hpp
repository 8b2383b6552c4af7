#pragma once

#include "model/resizes.hpp"
#include "node/container/journal.hpp"
#include "node/pods/local_pods.hpp"
#include "node/pods/pod_requests.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// What the node's agent publishes of resizes.
namespace tangram::node {

/// What the agent publishes of pods whose grant was revised.
struct PodResizes {
  model::ResizeAnswers answers;
  /// What the pods' resources request beyond what they have: Kubernetes cannot change those
  /// requests in a running pod.
  CardRequests released;
  friend bool operator==(const PodResizes&, const PodResizes&) = default;
};

/// Why a pod's revision is not applied.
struct ResizeRefused {
  model::ResizeRefusal why = model::ResizeRefusal::kInUse;
  std::string sentence;
  int revision = 0;
};
using ResizesRefused = std::map<std::string, ResizeRefused, std::less<>>;  ///< by pod UID

/// Which revisions the node's pods have, by their grants and the claims of their started
/// containers.
/// @param not_set  allocations whose limits in the journal are not known to be in force: as
/// published
/// @param before   the answers published last: what counts for a pod that has not started stays
[[nodiscard]] PodResizes pod_resizes(const PodSource& pods, const Journal& journal,
                                     const ResizesRefused& refused,
                                     const std::set<std::string, std::less<>>& not_set,
                                     const model::ResizeAnswers& before);

/// The revision that the answers say is applied; 0 = none.
[[nodiscard]] int applied_in(const model::ResizeAnswers& answers, std::string_view pod_uid);

}  // namespace tangram::node
