#pragma once

#include "model/fit.hpp"

#include <cassert>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

namespace tangram::policies {

/// What is remembered of a policy's choice on a node, or on a card: how good it is, or why there is
/// none. The node's cards are not: they are needed for the best node only, and quickly chosen
/// again. One word, since a filter writes and reads one for each node.
///
/// Ordered: a better score is more, every misfit is less than any score, and of misfits the one
/// that is looked for later is more.
class Verdict {
 public:
  Verdict() = default;
  /// It fits.
  /// @param score  at least kLowestScore
  explicit Verdict(std::int64_t score) : word_(score) { assert(fits()); }
  explicit Verdict(model::Misfit misfit)
      : word_(kMisfitWords + static_cast<std::int64_t>(misfit)) {}

  /// No policy gives it: scores are millionths of cards.
  static constexpr std::int64_t kLowestScore =
      std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(model::kMisfits);

  [[nodiscard]] bool fits() const { return word_ >= kLowestScore; }
  /// Only if the pod fits.
  [[nodiscard]] std::int64_t score() const { return word_; }
  /// @returns nothing if the pod fits
  [[nodiscard]] std::optional<model::Misfit> misfit() const {
    if (fits()) return std::nullopt;
    return static_cast<model::Misfit>(word_ - kMisfitWords);
  }
  friend auto operator<=>(const Verdict&, const Verdict&) = default;

 private:
  static constexpr std::int64_t kMisfitWords = std::numeric_limits<std::int64_t>::min();

  std::int64_t word_ = 0;  ///< the score, or which misfit it is: lower than any score
};

}  // namespace tangram::policies
