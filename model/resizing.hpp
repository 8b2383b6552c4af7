#pragma once

#include "model/node_state.hpp"
#include "model/request.hpp"

#include <optional>
#include <string>
#include <vector>

/// Between a running pod's request, which may have changed, and what its grant says.
namespace tangram::model {

/// Do both name the same containers, each with as many cards, and alone on them or not? Then they
/// differ in amounts at most, and those of shares can change.
[[nodiscard]] bool same_shape(const GpuRequest& request,
                              const std::vector<ContainerGrant>& granted);

/// Does the request ask for other amounts than were granted? It does not if it asked for them by
/// the max_burst that was in force then: a setting resizes no pod. What follows from a card's size,
/// as a fraction's memory does, counts only if it is far off: a card's size changes a little with
/// its driver, which is no request.
/// @param request    of the same shape
/// @param max_burst  as of the grant
/// @param node       null = not known: only what is requested in absolute terms is compared
[[nodiscard]] bool asks_other_amounts(const GpuRequest& request,
                                      const std::vector<ContainerGrant>& granted, int max_burst,
                                      const NodeState* node);

/// The parts of the grant's next revision: what is requested now of the same cards. All that the
/// containers may have now becomes their former amounts: most_of().
/// @param request  of the same shape
/// @param node     the allocation's; what is of a card that it has not keeps its amounts
[[nodiscard]] std::vector<ContainerGrant> resized(const GpuRequest& request,
                                                  const Allocation& allocation,
                                                  const NodeState& node);

/// The parts of the next revision that says the same. Former amounts that are not the containers'
/// any more are left out: their room may be another pod's.
[[nodiscard]] std::vector<ContainerGrant> repeated(const Allocation& allocation,
                                                   const NodeState& node);

/// The first card that the pod's next revision cannot have: it is away, or the pod would hold more
/// of it than now, and more than there is. A pod may shrink on a card that is over-granted.
/// @returns nothing if there is room
[[nodiscard]] std::optional<std::string> card_without_room(const NodeState& node,
                                                           const Allocation& next);

/// The parts of the next revision that takes one back: the former amounts.
[[nodiscard]] std::vector<ContainerGrant> taken_back(std::vector<ContainerGrant> granted);

/// Does the pod still request what was taken back for good?
/// @param granted  a Grant or an Allocation
template <class Granted>
[[nodiscard]] bool asks_what_was_refused(const GpuRequest& request, const Granted& granted,
                                         const NodeState& node) {
  return granted.former_refused && same_shape(request, granted.containers) &&
         !asks_other_amounts(request, taken_back(granted.containers), granted.max_burst, &node);
}

}  // namespace tangram::model
