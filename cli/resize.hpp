#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/sleeper.hpp"
#include "cluster/resize.hpp"
#include "kube/api.hpp"
#include "model/annotations.hpp"
#include "model/request_rules.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// `resize`: requests other amounts for a running pod by one PATCH of its annotations, and follows
/// the answers of the extender and of the node's agent.
namespace tangram::cli {

/// Instead of an amount: removes its annotation.
inline constexpr const char* kNoAmount = "none";

struct ResizeOrder {
  std::string ns;
  std::string pod;
  /// By key, without a container's name: {"gpu-mem": "12Gi"}. A gpu-mem takes the place of a
  /// gpu-fraction, and a gpu-fraction that of a gpu-mem and a gpu-compute.
  model::Annotations amounts;
  std::string container;  ///< empty = the only one with a request
  bool dry_run = false;   ///< the API server checks it and stores nothing
};

/// @param rules  the extender's
/// @returns a sentence that says what was requested, or that it was before;
///          kInvalidArgument  no pod can request that; the message says what to write
///          kNotFound         no such pod, or no such container with a request
///          kConflict         the pod cannot be resized, rejected or forbidden, or others kept
///                            changing it
///          kUnavailable      the API server does not answer
Result<std::string> request_resize(kube::KubeApi& api, const ResizeOrder& order,
                                   const model::RequestRules& rules);

struct ResizeProgress {
  /// Nothing = the containers have what the pod requests.
  std::optional<cluster::ResizeState> state = cluster::ResizeState::kProposed;
  std::string reason = {};  ///< one line; may be empty
  friend bool operator==(const ResizeProgress&, const ResizeProgress&) = default;
};
/// "Resized", or the state's name.
[[nodiscard]] std::string_view state_name(const ResizeProgress& progress);

/// "ml/train-0 resized", or that it is not, why, and what to do.
[[nodiscard]] std::string outcome_text(const std::string& pod, const ResizeProgress& progress);

/// How far it is by the pod and its node: the request, the grant, and the agent's answer. It sees
/// a deferred or infeasible one only if the agent has refused it.
/// @returns kNotFound: the pod or its node is gone; kConflict: the pod ends, or its grant cannot be
///          read; kUnavailable
Result<ResizeProgress> read_resize_progress(kube::KubeApi& api, const std::string& ns,
                                            const std::string& pod,
                                            const model::RequestRules& rules);

/// What the page /api/v1/explain says of the pod's resize; nothing of one that is not proposed or
/// later, or if the page cannot be read.
using ExplainResize = std::function<std::optional<ResizeProgress>()>;

struct ResizeWait {
  std::chrono::seconds timeout{};
  const Clock& clock;
  Sleeper sleep;
};
/// Repeats `read` until the pod is resized, the resize is infeasible, or the time is up. It asks
/// `explain` less often.
/// @returns how far it is then; or the error of `read`, except kUnavailable in between
Result<ResizeProgress> await_resize(const std::function<Result<ResizeProgress>()>& read,
                                    const ExplainResize& explain, const ResizeWait& wait);

}  // namespace tangram::cli
