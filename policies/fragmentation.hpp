#pragma once

#include "policies/fragmentation_measure.hpp"
#include "policies/policy.hpp"

#include <optional>

namespace tangram::policies {

/// Fragmentation gradient descent (FGD) as published: places a pod where it makes the least idle
/// GPU useless to the pods expected next.
///
///     score = floor(100 / (1 + e^(dF / 1000)))    0..100; 50 = changes nothing
///
/// dF = F_n after the placement less F_n before, in milli-GPU (see FragmentationMeasure); cards
/// are chosen by the same score, each for its own effect. The truncation to an integer is part
/// of the policy: it leaves many ties, which the fixed order of cards and nodes decides.
class Fragmentation final : public Policy {
 public:
  explicit Fragmentation(const Workload& expected) : measure_(expected) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "fragmentation"; }

 private:
  [[nodiscard]] std::optional<Choice> do_choose(const model::PodDemand& demand,
                                                const model::NodeState& node,
                                                model::SearchBudget& budget,
                                                model::CardMemo* memo) const override;
  FragmentationMeasure measure_;
};

}  // namespace tangram::policies
