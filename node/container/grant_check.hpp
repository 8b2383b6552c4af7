#pragma once

#include "base/result.hpp"
#include "model/card.hpp"
#include "model/grant.hpp"
#include "node/pods/local_pod.hpp"

#include <span>
#include <string>
#include <string_view>

namespace tangram::node {

/// The claim of one container to the node's cards, by a valid grant.
struct CardClaim {
  std::string pod_uid;
  std::string issued_at;
  model::Isolation isolation = model::Isolation::kNone;
  bool admitted = false;  ///< by check_grant(), when the container was to start for the first time
  bool whole = false;     ///< admitted, and shares none of its cards
  bool ending = false;    ///< the API server has no such pod any more, but its processes run
  bool awaited = false;   ///< the watch has not shown the pod yet, which may have ended since
  model::ContainerGrant container;
  /// The names of its CDI devices if it was admitted: several if kubelet allocated for it again.
  std::vector<std::string> allocations = {};
  std::string ns = {};   ///< of the pod
  std::string pod = {};  ///< its name
};

/// A container that is about to start.
struct StartRequest {
  const LocalPod& pod;
  std::string_view container;
  bool admitted = false;  ///< before, under the same allocation
  bool ran = false;       ///< it was also prepared to the end then
  /// The pod was fetched, since the watch does not have it yet. The watch may also still have pods
  /// that are gone.
  bool watch_lags = false;
  /// The variable that passes the name of the device, which one of the pod's own would override;
  /// empty = none (NamePath::kEnvironment only).
  std::string_view name_variable = {};
};

/// Memory of a card that processes of a pod use which was deleted by force.
struct OrphanedMemory {
  std::string card;
  std::string pod_uid;
  std::uint64_t bytes = 0;
};

/// Whether this container may start with its grant. Pure.
///
/// The grant must be the pod's own, name the container, and name cards of this node that are
/// healthy, large enough, and offer the grant's isolation mode and the means of memory limits that
/// it promises, or a stronger one. The claim must fit on each card
/// together with those before it: admitted ones, then by time of issue, then by UID. So the later
/// of two grants for the same room is refused, whichever container starts first.
///
/// An admitted container may start again even if its card has become smaller: no other container
/// was given its room. One that has run waits for a card that has become unhealthy: it would fail
/// there again and again. The promised means must still be there: without it, the container could
/// take the others' memory.
///
/// @param others  claims of other containers on this node, in any order
/// @returns what the container has been granted;
///          kInvalidArgument  it cannot start, with what to do
///          kUnavailable      it can start later, once a card is free or healthy again
Result<model::ContainerGrant> check_grant(const StartRequest& request,
                                          std::span<const model::Card> cards,
                                          std::span<const CardClaim> others,
                                          std::span<const OrphanedMemory> orphaned);

/// Whether a container that was admitted may have this much of its cards. Pure. Unlike at a start,
/// every other claim comes before it: a growth takes no room that a bound pod was granted.
/// @param others  as of check_grant()
/// @returns kInvalidArgument  a card has no room for it, or is gone
///          kUnavailable      it has none until processes of pods that are gone have ended
Result<void> check_growth(const CardClaim& wanted, std::span<const model::Card> cards,
                          std::span<const CardClaim> others,
                          std::span<const OrphanedMemory> orphaned);

/// The pod has an init container of that name that ends before the app containers start.
[[nodiscard]] bool is_ordinary_init(const NodePod& pod, std::string_view container);

}  // namespace tangram::node
