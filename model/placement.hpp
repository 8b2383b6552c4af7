#pragma once

#include "model/fit.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace tangram::model {

/// Cards of one node for one request: the indices of the first container's cards, then of the
/// second's, and so on, as many as each asks. Small enough not to allocate for nearly all pods.
using Placement = boost::container::small_vector<std::uint32_t, 8>;

/// How much a policy wants a slice on a card that can take it; higher is better.
/// `use` is the card's load including what this request has put there already. For part of a card
/// it must not distinguish cards of one model, with the same traits and use: it is not asked for
/// each of them.
using CardPreference =
    std::function<std::int64_t(const Slice& slice, std::uint32_t card, const CardUse& use)>;

/// Finds cards for every container of the request: the most preferred ones, on a tie the lowest
/// index. One container: exact and linear. Several: the largest first, with backtracking, so
/// that a pod which fits is placed; the search gives up after kMaxSearchSteps.
/// @returns nothing if the request does not fit the node (or the search gave up)
[[nodiscard]] std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                                             const CardPreference& preference);

/// A step is one look at one card. A pod of 16 containers on 16 cards that fits is nearly always
/// found in a few hundred; this bounds what a hostile one can cost to about a millisecond.
inline constexpr int kMaxSearchSteps = 20'000;

/// Calls visit(container, slice, card) for every card of a placement.
template <class Visit>
void for_each_pick(const GpuRequest& request, const NodeState& node, const Placement& placement,
                   Visit&& visit) {
  std::size_t next = 0;
  for (const ContainerRequest& container : request.containers) {
    for (int i = 0; i < container.count; ++i) {
      const std::uint32_t card = placement[next++];
      visit(container, slice_of(container.share, node.traits()[card]), card);
    }
  }
}

/// The use of every card of the node after the placement.
[[nodiscard]] std::vector<CardUse> use_after(const GpuRequest& request, const NodeState& node,
                                             const Placement& placement);

/// The record of a placement, per container.
[[nodiscard]] std::vector<ContainerGrant> grants_of(const GpuRequest& request,
                                                    const NodeState& node,
                                                    const Placement& placement);

}  // namespace tangram::model
