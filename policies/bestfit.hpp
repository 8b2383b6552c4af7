#pragma once

#include "base/units.hpp"
#include "policies/policy.hpp"

#include <optional>

namespace tangram::policies {

/// BestFit as published beside FGD: the node that is left with the least.
///
///     score = floor(100 * (1 - 0.5 * c / C - 0.5 * g / G))
///
/// c, g: the node's free CPU and free GPU milli (over its available cards) after the placement.
/// C, G: constants, the same for every node, at which a node counts as empty; a larger node
/// scores below zero. Memory is not scored. A pod takes the fitting card with the least free
/// compute, then the least free memory.
class BestFit final : public Policy {
 public:
  /// @param cpu, gpu  C and G; > 0
  BestFit(MilliCpu cpu, MilliGpu gpu) : cpu_(cpu), gpu_(gpu) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "bestfit"; }

 private:
  [[nodiscard]] std::optional<Choice> do_choose(const model::PodDemand& demand,
                                                const model::NodeState& node,
                                                model::SearchBudget& budget,
                                                model::CardMemo* memo) const override;
  MilliCpu cpu_;
  MilliGpu gpu_;
};

}  // namespace tangram::policies
