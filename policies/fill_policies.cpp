#include "policies/fill.hpp"
#include "policies/registry.hpp"

namespace tangram::policies {

namespace {

/// binpack fills what is fullest: keeps whole cards and whole nodes free for large pods. spread
/// fills what is emptiest: pods share cards as little as they can, and a lost node costs few.
///
///     binpack: score = fill of the node after the placement, in millionths (see fill.hpp)
///     spread:  score = 1,000,000 - that
///
/// A pod takes the fitting card that is fullest (emptiest) now, by the larger of its memory share
/// and its compute share.
class FillPolicy final : public Policy {
 public:
  FillPolicy(std::string_view name, bool fullest) : name_(name), fullest_(fullest) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }

 private:
  [[nodiscard]] std::optional<Choice> do_choose(const model::PodDemand& demand,
                                                const model::NodeState& node,
                                                model::SearchBudget& budget,
                                                model::CardMemo* memo) const override {
    const auto placement = model::place(
        demand.gpu, node,
        [this, &node](const model::Slice& /*slice*/, std::uint32_t card,
                      const model::CardUse& use) {
          const std::int64_t fill = card_fill(node.cards()[card], use);
          return fullest_ ? fill : -fill;
        },
        budget, 1, memo);
    if (!placement) return std::nullopt;
    const std::int64_t fill = node_fill_after(demand, node, *placement);
    return Choice{.score = fullest_ ? fill : kFull - fill, .placement = *placement};
  }

  std::string_view name_;
  bool fullest_;
};

}  // namespace

PolicyPtr make_binpack(const PolicyOptions& /*options*/) {
  return std::make_unique<const FillPolicy>("binpack", true);
}

PolicyPtr make_spread(const PolicyOptions& /*options*/) {
  return std::make_unique<const FillPolicy>("spread", false);
}

}  // namespace tangram::policies
