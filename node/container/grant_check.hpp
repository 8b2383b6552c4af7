#pragma once

#include "base/result.hpp"
#include "model/card.hpp"
#include "model/grant.hpp"
#include "node/pods/local_pods.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// What one container has of the node's cards, by a valid grant.
struct CardClaim {
  std::string pod_uid;
  std::string issued_at;
  model::Isolation isolation = model::Isolation::kNone;
  bool admitted = false;  ///< by check_grant(), when the container was to start for the first time
  bool whole = false;     ///< of an admitted one: it has its cards alone
  bool leaving =
      false;  ///< the API server does not name the pod any more, but it still has processes
  model::ContainerGrant container;
};

/// A container that is about to start.
struct StartRequest {
  const LocalPod& pod;
  std::string_view container;
  bool admitted = false;  ///< before, under the same allocation
  bool ran = false;       ///< it was also prepared to the end then
  /// The pod was asked for, since the watch does not show it yet: then it may also still show pods
  /// that are gone.
  bool watch_lags = false;
  /// The pod's own environment would win over the name of the device (NamePath::kEnvironment).
  bool environment_decides = false;
};

/// What is on a card that no live pod answers for: processes of a pod that was deleted by force.
struct Leftover {
  std::string card;
  std::string pod_uid;
  std::uint64_t memory_bytes = 0;
};

/// May this container start with what its grant says? Pure.
///
/// The grant must be the pod's own, name the container, and name cards that are here, healthy,
/// large enough, and able to share in the grant's mode. Together with the claims that come before
/// it a claim must fit each card: those that were admitted, then by time of issue, then by UID. So
/// of two grants for the same room the later one is refused, whichever comes first.
///
/// What was admitted stays: it may start again though its card has become sick or smaller since,
/// since nobody else was given its room.
///
/// @param others  claims of other containers on this node, in any order
/// @returns what the container has been granted;
///          kInvalidArgument  it cannot start as things are, with what to do
///          kUnavailable      it can once something has left
Result<model::ContainerGrant> check_grant(const StartRequest& request,
                                          std::span<const model::Card> cards,
                                          std::span<const CardClaim> others,
                                          std::span<const Leftover> leftovers);

/// Has the container the card alone? It needs no enforcer then.
[[nodiscard]] bool is_whole(const model::GrantedCard& granted, const model::Card& card);

}  // namespace tangram::node
