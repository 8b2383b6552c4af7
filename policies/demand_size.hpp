#pragma once

#include "model/node_state.hpp"
#include "model/request.hpp"

#include <cstdint>

namespace tangram::policies {

/// How much of a card something takes or leaves, by whichever of compute and memory decides.
/// All in thousandths of the card.

/// The larger of the slice's two shares; the memory's rounded up. May exceed 1000.
[[nodiscard]] std::int64_t size_on(const model::Slice& slice, const model::Card& card);

/// The sum over all cards that the pod asks, were they all like this one.
[[nodiscard]] std::int64_t size_on(const model::GpuRequest& request, const model::Card& card);

/// The smaller of the two free shares; the memory's rounded down. 0 if the card takes no more
/// sharers.
[[nodiscard]] std::int64_t room_of(const model::Card& card, const model::CardUse& use);

}  // namespace tangram::policies
