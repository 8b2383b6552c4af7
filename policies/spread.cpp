#include "policies/fill.hpp"
#include "policies/registry.hpp"

namespace tangram::policies {

namespace {

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
                                             const model::NodeState& node) const override {
    const auto placement = model::place(
        demand.gpu, node,
        [&node](const model::Slice& /*slice*/, std::uint32_t card, const model::CardUse& use) {
          return -card_fill(node.cards()[card], use);
        });
    if (!placement) return std::nullopt;
    return Choice{.score = kFull - node_fill_after(demand, node, *placement),
                  .placement = *placement};
  }
};

}  // namespace

PolicyPtr make_spread(const PolicyOptions& /*options*/) { return std::make_unique<const Spread>(); }

}  // namespace tangram::policies
