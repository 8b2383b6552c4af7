#pragma once

#include "policies/policy.hpp"
#include "policies/prices.hpp"

#include <memory>
#include <optional>

namespace tangram::policies {

/// How much each kind of waste counts, in percent. All of them are parts of cards that are lost, so
/// they would add up as they are; but what is cut badly is lost for certain, and the others are
/// forecasts, so it counts double.
struct WasteWeights {
  int cpu_deficit = 100;
  int cutting = 200;
  int scarcity = 100;
  int balance = 100;
  int opening = 100;
};

/// Puts a pod where the least GPU goes to waste, by what has been learned of the pods to come.
///
///     score = -(d W_cpu + sum over its cards (2 d W_cut + d W_balance) + W_kind + W_open) - ties
///
/// in millionths of a card; d = after the placement less before:
///   - W_cpu      idle cards without CPU: max(0, idle - free CPU / CPU that a card needs)
///   - W_cut      -(value of the card's rest): a pod that asks 810 of a rest of 1000 leaves 190,
///                which is worth what the pods to come can cut from it (see rest_values())
///   - W_balance  half the difference of the card's free compute and free memory shares: what is
///                left of the one without the other
///   - W_kind     cards taken x pressure on this kind of node by pods that cannot go elsewhere
///   - W_open     for the first pod on an idle node of several cards: the cube of the share of
///   demand
///                that wants several cards of one node
/// Ties, too small to outweigh a thousandth of a card: the fullest card, then the node with the
/// least part of its compute idle. Whole cards are taken close together (see topology.hpp).
class LeastWaste final : public Policy {
 public:
  /// @param prices  not null
  explicit LeastWaste(std::shared_ptr<const Prices> prices, WasteWeights weights = {})
      : prices_(std::move(prices)), weights_(weights) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "least-waste"; }
  [[nodiscard]] std::unique_ptr<BriefScorer> brief_scorer(
      const model::PodDemand& demand) const override;

 private:
  class Scorer;
  /// A pod that has its cards.
  struct Pod {
    const model::PodDemand& demand;
    std::int64_t waste = 0;    ///< of its cards
    std::int64_t cards = 0;    ///< thousandths, by whichever of compute and memory decides
    std::int64_t compute = 0;  ///< milli
    bool opens = false;        ///< it is the first one on the node's cards
  };
  /// What the score takes into account of a node besides.
  struct Node {
    std::int64_t cards = 0;
    std::int64_t idle = 0;  ///< milli
    MilliCpu free_cpu;
    std::int64_t pressure = 0;  ///< on its kind, in thousandths
  };

  [[nodiscard]] std::optional<Choice> do_choose(const model::PodDemand& demand,
                                                const model::NodeState& node,
                                                model::SearchBudget& budget,
                                                model::CardMemo* memo) const override;
  [[nodiscard]] std::int64_t score(const Pod& pod, const Node& node) const;
  [[nodiscard]] std::int64_t cpu_deficit(std::int64_t idle_milli, MilliCpu free_cpu) const;

  std::shared_ptr<const Prices> prices_;
  WasteWeights weights_;
};

}  // namespace tangram::policies
