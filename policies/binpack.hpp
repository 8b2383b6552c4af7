#pragma once

#include "policies/policy.hpp"

#include <optional>

namespace tangram::policies {

/// Fills what is fullest: keeps whole cards and whole nodes free for large pods.
///
///     score = fill of the node after the placement, in millionths (see fill.hpp)
///
/// A pod takes the fitting card that is fullest now, by the larger of its memory share and its
/// compute share.
class Binpack final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "binpack"; }
  [[nodiscard]] std::optional<Choice> choose(const model::PodDemand& demand,
                                             const model::NodeState& node) const override;
};

}  // namespace tangram::policies
