#include "policies/fill.hpp"
#include "policies/registry.hpp"

namespace tangram::policies {

namespace {

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
                                             const model::NodeState& node) const override {
    const auto placement = model::place(
        demand.gpu, node,
        [&node](const model::Slice& /*slice*/, std::uint32_t card, const model::CardUse& use) {
          return card_fill(node.cards()[card], use);
        });
    if (!placement) return std::nullopt;
    return Choice{.score = node_fill_after(demand, node, *placement), .placement = *placement};
  }
};

}  // namespace

PolicyPtr make_binpack(const PolicyOptions& /*options*/) {
  return std::make_unique<const Binpack>();
}

}  // namespace tangram::policies
