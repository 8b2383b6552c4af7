#pragma once

#include "policies/policy.hpp"

#include <optional>

namespace tangram::policies {

/// Fills what is emptiest: pods share cards as little as they can, and a lost node costs few.
///
///     score = 1,000,000 - fill of the node after the placement, in millionths (see fill.hpp)
///
/// A pod takes the fitting card that is emptiest now, by the larger of its memory share and its
/// compute share.
class Spread final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "spread"; }
  [[nodiscard]] std::optional<Choice> choose(const model::PodDemand& demand,
                                             const model::NodeState& node) const override;
};

}  // namespace tangram::policies
