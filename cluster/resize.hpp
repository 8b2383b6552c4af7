#pragma once

#include "cluster/findings.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// Bound pods whose request has changed: how far each resize is. The states are those of
/// Kubernetes' in-place resize of CPU and memory (KEP 1287).
namespace tangram::cluster {

/// A bound pod that requests other amounts than it was granted, or whose grant has been revised, or
/// whose annotations say neither any more.
struct ResizablePod {
  PodName pod;
  std::string node;
  std::optional<model::GpuRequest> request;  ///< nothing = its annotations are no valid request
  int revision = 0;                          ///< of the grant that stands on the pod; -1 = none
  bool is_damaged = false;  ///< somebody has changed or removed the one that counts
};
using ResizablePodPtr = std::shared_ptr<const ResizablePod>;

/// @param node  the pod's, or null if it is not known
/// @returns null if the pod has what it requests, as far as is known for certain, has never had a
///          good grant, or is being deleted
[[nodiscard]] ResizablePodPtr resizable(const kube::Pod& pod, const Result<PodPlan>& plan,
                                        const Recorded& recorded, const model::NodeState* node);

enum class ResizeState {
  kProposed,    ///< there is room: the leader writes the next revision of the grant
  kInProgress,  ///< it is written, and the node's agent has not applied it yet
  kDeferred,    ///< the card has no room now
  kInfeasible,  ///< never, as things are
};
inline constexpr std::array kAllResizeStates{ResizeState::kProposed, ResizeState::kInProgress,
                                             ResizeState::kDeferred, ResizeState::kInfeasible};
/// "InProgress"
[[nodiscard]] std::string_view to_string(ResizeState state);

struct Resize {
  ResizeState state = ResizeState::kProposed;
  std::string_view reason;  ///< a sentence of a fixed set
  friend bool operator==(const Resize&, const Resize&) = default;
};

/// How far the pod's resize is. Pure.
/// @param pod   null = it requests what it was granted
/// @param node  the allocation's
/// @returns nothing if the pod has what it requests
[[nodiscard]] std::optional<Resize> resize_of(const model::Allocation& allocation,
                                              const ResizablePod* pod,
                                              const model::NodeState& node);

/// Has the pod, for certain, what it requests, by a grant that was never revised? Then nothing of
/// a resize is to be remembered.
[[nodiscard]] bool has_all_it_requests(const model::Allocation& allocation,
                                       const model::GpuRequest& request,
                                       const model::NodeState& node);

/// The pod's next revision: what it requests now of the same cards.
[[nodiscard]] model::Allocation next_revision(const model::Allocation& allocation,
                                              const model::GpuRequest& request,
                                              const model::NodeState& node);

/// Must the revision be taken back? The node's agent has refused it for good: the card has no room
/// for it beside what it has let start, which another leader may have given away, or the containers
/// cannot be changed to it. The room comes back, and the latter is infeasible from then on.
[[nodiscard]] bool must_be_taken_back(const model::Allocation& allocation,
                                      const model::NodeState& node);
/// The revision that does.
[[nodiscard]] model::Allocation taken_back(const model::Allocation& allocation,
                                           const model::NodeState& node);

/// May somebody have replaced the revision on the pod before its node's agent could apply it? Then
/// it is to be read.
/// @param shown  ResizablePod::revision
[[nodiscard]] bool may_be_replaced(const model::Allocation& allocation, int shown,
                                   const model::NodeState& node);
/// The revision that says the same again.
[[nodiscard]] model::Allocation repeated(const model::Allocation& allocation,
                                         const model::NodeState& node);

}  // namespace tangram::cluster
