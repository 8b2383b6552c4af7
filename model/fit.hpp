#pragma once

#include "model/node_state.hpp"
#include "model/request.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tangram::model {

/// Why a request has no place. A fixed small set: messages shown to users must not change from
/// one attempt to the next, or kube-scheduler retries the pod at its back-off rate.
/// In the order in which they are looked for.
enum class Misfit {
  kUnknownNode,
  kNoCards,
  kModel,
  kCardId,
  kReplicas,
  kUnavailable,
  kIsolationUnsupported,
  kMemoryLimits,
  kTooSmall,
  kTooLarge,
  kIsolationBusy,
  kSharers,
  kRoom,
  kTogether,
  kNotTried,  ///< not known: a budget of searches was spent, see SearchBudget
};
inline constexpr std::size_t kMisfits = 15;

/// The sentence a user reads; no numbers.
[[nodiscard]] std::string_view reason(Misfit misfit);
/// False: evicting pods from the node would not help.
[[nodiscard]] bool resolvable(Misfit misfit);

/// The mode that a share of the card runs in: replicas by the card, others by the request.
[[nodiscard]] inline Isolation mode_on(const GpuRequest& request, const CardTraits& card) {
  return request.asks_replicas() ? card.replicas.isolation : request.isolation;
}

/// Does the request name the card's model, or none?
[[nodiscard]] bool is_of_models(const GpuRequest& request, const Card& card);

/// The one rule of what goes onto a card now. Nothing = fits.
[[nodiscard]] std::optional<Misfit> card_misfit(const GpuRequest& request, const Slice& slice,
                                                const Card& card, const CardUse& use);
/// The same for a card of a node.
[[nodiscard]] std::optional<Misfit> card_misfit(const GpuRequest& request, const Slice& slice,
                                                const NodeState& node, std::uint32_t card);

/// The rule for a slice that is already made out: is there room for it in this mode?
/// Availability and model are not looked at: those decide where new pods may go.
[[nodiscard]] std::optional<Misfit> room_misfit(const Slice& slice, Isolation mode,
                                                const CardTraits& card, const CardUse& use);

/// Why the request as a whole does not fit the node; only meaningful if it does not.
[[nodiscard]] Misfit why_not(const GpuRequest& request, const NodeState& node);

}  // namespace tangram::model
