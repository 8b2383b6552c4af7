#pragma once

#include "base/units.hpp"

#include <algorithm>
#include <cstdint>

namespace tangram::model {

/// A card may give compute in equal chunks only, as NVIDIA's static SM partitions do: a part of it
/// is then some whole chunks, booked as thousandths that are rounded down. These functions convert;
/// `chunks` is CardTraits::compute_chunks and > 0.
inline constexpr int kMaxComputeChunks = 500;  // more would leave no room for two sharers

/// The chunks of a share: rounded down, so that shares which add up to one card fit it.
[[nodiscard]] constexpr std::int64_t chunks_within(MilliGpu share, int chunks) {
  return share.count() * chunks / kWholeGpu.count();
}

/// As what so many chunks are booked.
[[nodiscard]] constexpr MilliGpu booked_for(std::int64_t count, int chunks) {
  return MilliGpu(count * kWholeGpu.count() / chunks);
}

/// The inverse of booked_for(). For other amounts, which were granted before the card gave chunks:
/// as many as hold them.
[[nodiscard]] constexpr std::int64_t booked_chunks(MilliGpu compute, int chunks) {
  constexpr std::int64_t kWhole = kWholeGpu.count();
  return (compute.count() * chunks + kWhole - 1) / kWhole;
}

/// With more sharers, amounts that add up to a card could be one chunk more than the card has: each
/// is rounded down by less than (chunks - 1) / chunks, which must stay below one in sum.
[[nodiscard]] constexpr int most_sharers(int chunks) {
  const auto exact = static_cast<int>((kWholeGpu.count() - 1) / std::max(chunks - 1, 1));
  return std::min(chunks, exact);
}

}  // namespace tangram::model
