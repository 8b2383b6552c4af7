#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tangram::policies {

/// So many pieces of one size are to be cut from cards.
struct CutDemand {
  std::size_t size = 0;    ///< thousandths of a card; 1..999
  std::int64_t count = 0;  ///< >= 1
};

/// What the rest of a card is worth, by its size in thousandths of a card: 0 for nothing,
/// kFull (fill.hpp) for a whole card; never falling.
using RestValues = std::vector<std::int64_t>;

/// Cutting stock (Gilmore and Gomory 1961): the fewest cards from which the demand can be cut, as a
/// linear program over patterns, made by column generation. Its dual prices say what a piece of
/// each size is worth in cards; a rest is worth the dearest set of pieces that can be cut from it.
///
/// A piece of 810 that nothing goes beside is worth a whole card, and the 190 left nothing.
/// Without demand a rest is worth its size.
///
/// @param demand  sizes are different; of more than kMostSizes the most frequent ones are used
[[nodiscard]] RestValues rest_values(std::vector<CutDemand> demand);

/// Bounds the work of one call to some milliseconds; the published traces have 30 sizes at most.
inline constexpr std::size_t kMostSizes = 64;

}  // namespace tangram::policies
