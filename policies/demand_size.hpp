#pragma once

#include "model/request.hpp"

#include <cstdint>

namespace tangram::policies {

/// How much of a card something takes or leaves, by whichever of compute and memory decides.
/// All in thousandths of the card.

/// The larger of the slice's two shares; the memory's rounded up. May exceed 1000.
[[nodiscard]] std::int64_t size_on(const model::Slice& slice, const model::CardTraits& card);

/// The sum over all cards that the pod asks, were they all like this one.
[[nodiscard]] std::int64_t size_on(const model::GpuRequest& request, const model::CardTraits& card);

}  // namespace tangram::policies
