#include "policies/fragmentation.hpp"

#include "model/placement.hpp"

#include <algorithm>
#include <cmath>

namespace tangram::policies {

namespace {

/// @param delta  change of F_n, in milli-GPU x pods
std::int64_t gradient_score(std::int64_t delta, std::int64_t pods) {
  if (pods == 0) return 50;  // nothing is expected: no place is better than another
  const double milli = static_cast<double>(delta) / static_cast<double>(pods);
  return static_cast<std::int64_t>(std::floor(100.0 / (1.0 + std::exp(milli / 1000.0))));
}

/// One pod on one node.
class Chooser {
 public:
  Chooser(const FragmentationMeasure& measure, const model::PodDemand& demand,
          const model::NodeState& node)
      : measure_(measure),
        demand_(demand),
        node_(node),
        cpu_after_(std::max(node.free_cpu() - demand.footprint.cpu, MilliCpu{})) {}

  std::optional<Choice> run(model::SearchBudget& budget) {
    const auto placement = model::place(
        demand_.gpu, node_,
        [this](const model::Slice& slice, std::uint32_t card, const model::CardUse& use) {
          return card_score(slice, card, use);
        },
        budget, measure_.look_price());
    if (!placement) return std::nullopt;
    return Choice{.score = score(*placement), .placement = *placement};
  }

 private:
  /// Worked out when the first card turns out to fit: most nodes of a full cluster have none.
  const NodeFragmentation& at_node() {
    if (!now_) {
      now_.emplace(measure_, node_.cards(), node_.use);
      before_ = now_->weighted(node_.free_cpu());
    }
    return *now_;
  }

  /// The score of this slice on this card, the rest of the pod left aside.
  std::int64_t card_score(const model::Slice& slice, std::uint32_t card,
                          const model::CardUse& use) {
    const NodeFragmentation& now = at_node();
    // Neighbours in the same state have the same score; on an idle node that is every card.
    if (last_ && now.alike(last_->card, card) && last_->use == use && last_->slice == slice) {
      return last_->score;
    }
    const bool as_now = use == node_.use[card];
    const std::int64_t before = as_now ? before_ : now.weighted_if(card, use, node_.free_cpu());
    const std::int64_t score =
        score_of(now.weighted_if(card, with(slice, card, use), cpu_after_), before);
    last_ = {.card = card, .use = use, .slice = slice, .score = score};
    return score;
  }

  std::int64_t score(const model::Placement& placement) {
    const NodeFragmentation& now = at_node();
    if (placement.empty()) return score_of(now.weighted(cpu_after_), before_);
    if (placement.size() == 1) {
      const std::uint32_t card = placement.front();
      const model::Slice slice =
          slice_of(demand_.gpu.containers.front().share, node_.cards()[card]);
      return card_score(slice, card, node_.use[card]);
    }
    const auto use = model::use_after(demand_.gpu, node_, placement);
    const NodeFragmentation then(measure_, node_.cards(), use);
    return score_of(then.weighted(cpu_after_), before_);
  }

  [[nodiscard]] std::int64_t score_of(std::int64_t after, std::int64_t before) const {
    return gradient_score(after - before, measure_.pods());
  }

  [[nodiscard]] model::CardUse with(const model::Slice& slice, std::uint32_t card,
                                    model::CardUse use) const {
    model::charge(use, slice, mode_on(demand_.gpu, node_.traits()[card]));
    return use;
  }

  struct Scored {
    std::uint32_t card = 0;
    model::CardUse use;
    model::Slice slice;
    std::int64_t score = 0;
  };

  const FragmentationMeasure& measure_;
  const model::PodDemand& demand_;
  const model::NodeState& node_;
  MilliCpu cpu_after_;
  std::optional<NodeFragmentation> now_;
  std::int64_t before_ = 0;
  std::optional<Scored> last_;
};

}  // namespace

std::optional<Choice> Fragmentation::do_choose(const model::PodDemand& demand,
                                               const model::NodeState& node,
                                               model::SearchBudget& budget,
                                               model::CardMemo* /*memo*/) const {
  return Chooser(measure_, demand, node).run(budget);
}

}  // namespace tangram::policies
