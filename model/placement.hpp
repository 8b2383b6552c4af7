#pragma once

#include "model/card_memo.hpp"
#include "model/fit.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <functional>
#include <limits>
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

/// A step is one look at one card. A pod of 16 containers on 16 cards that fits is nearly always
/// found in a few hundred; this bounds what a hostile one can cost on one node to about a
/// millisecond.
inline constexpr std::int64_t kMaxSearchSteps = 20'000;

/// What searches may cost together: those that one question causes on many nodes. A search that
/// begins is made to its end, so a budget is exceeded by one search at most, and each budget gets
/// further than the one before if what it found is remembered.
/// Threads: one at a time.
class SearchBudget {
 public:
  /// Without a limit: each search has its own, kMaxSearchSteps.
  SearchBudget() = default;
  explicit SearchBudget(std::int64_t steps) : left_(steps) {}

  [[nodiscard]] bool spent() const { return left_ <= 0; }
  void spend(std::int64_t steps) { left_ -= steps; }
  /// How many searches were not made because all was spent: they found nothing, and prove nothing.
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }
  void skip_search() { ++skipped_; }

 private:
  std::int64_t left_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t skipped_ = 0;
};

/// Finds cards for every container of the request: the most preferred ones, on a tie the lowest
/// index. One container: exact and linear, and free of charge. Several: first two bounds that no
/// placement exceeds, the sum of memory and compute and the number of places, which refuse most of
/// what does not fit. Then a search, the largest first, with backtracking, so that a pod which fits
/// is placed. It gives up after kMaxSearchSteps.
/// @param budget      pays for the search
/// @param step_price  what a call of `preference` costs, in steps of a cheap one
/// @param memo        of this request and preference, which for part of a card knows nothing of the
///                    node but the card's traits; null = none
/// @returns nothing if the request does not fit the node (or the search gave up, or was skipped)
[[nodiscard]] std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                                             const CardPreference& preference, SearchBudget& budget,
                                             std::int64_t step_price = 1, CardMemo* memo = nullptr);
/// The same without a budget.
[[nodiscard]] std::optional<Placement> place(const GpuRequest& request, const NodeState& node,
                                             const CardPreference& preference);

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

/// The mode that the pod's shares run in there. Cards of a node that share in different modes have
/// different rules, which the ledger checks.
[[nodiscard]] Isolation mode_of(const GpuRequest& request, const NodeState& node,
                                const Placement& placement);

/// The record of a placement, per container.
[[nodiscard]] std::vector<ContainerGrant> grants_of(const GpuRequest& request,
                                                    const NodeState& node,
                                                    const Placement& placement);

}  // namespace tangram::model
