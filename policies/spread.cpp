#include "policies/spread.hpp"

#include "model/placement.hpp"
#include "policies/fill.hpp"

namespace tangram::policies {

std::optional<Choice> Spread::choose(const model::PodDemand& demand,
                                     const model::NodeState& node) const {
  const auto placement = model::place(
      demand.gpu, node,
      [&node](const model::Slice& /*slice*/, std::uint32_t card, const model::CardUse& use) {
        return -card_fill(node.cards()[card], use);
      });
  if (!placement) return std::nullopt;
  return Choice{.score = kFull - node_fill_after(demand, node, *placement),
                .placement = *placement};
}

}  // namespace tangram::policies
