#pragma once

#include "model/node_brief.hpp"
#include "model/node_state.hpp"
#include "model/placement.hpp"
#include "policies/verdict.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace tangram::policies {

/// Where a pod would go on a node, and how good that is.
struct Choice {
  std::int64_t score = 0;  ///< higher is better; comparable between nodes for the same pod only
  model::Placement placement;
};

/// Scores nodes by their briefs for one demand: as choose() does, but without choosing cards, and
/// so in a tenth of the time. Remembers what it found out about cards, in up to 64 KiB.
/// Threads: one at a time.
class BriefScorer {
 public:
  BriefScorer() = default;
  virtual ~BriefScorer() = default;
  BriefScorer(const BriefScorer&) = delete;
  BriefScorer& operator=(const BriefScorer&) = delete;

  /// It will be asked about many nodes of one moment. What it knows of cards is kept.
  virtual void begin_walk() = 0;
  /// @param node  that has a brief
  /// @returns the score of choose(), or model::why_not() the demand does not fit
  [[nodiscard]] virtual Verdict judge(const model::NodeBrief& node) = 0;
};

/// Scores a node and picks its cards in one go, so that the allocation is what was scored.
///
/// A policy chooses among places; what fits is model's rule, and the same for every policy:
/// choose() answers nothing if and only if the request does not fit the node's cards. A pod
/// without GPU request gets an empty placement and a score.
/// CPU and memory of the node may enter the score, never the fit: those kube-scheduler checks.
///
/// Implementations do not change after construction and are called from many threads at once.
/// They read only their arguments: no clock, no random source, no I/O. Among a node's cards ties
/// go to the lowest index; among nodes the caller breaks ties. For a pod that names no card the
/// score must not distinguish nodes that look alike (model::look_alike()): they are not asked about
/// each of them.
class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// @param budget  pays for the search that a pod of several containers needs. If the search was
  ///                skipped, there is no choice and nothing is known: see SearchBudget::skipped()
  /// @param memo  of this policy and demand, for a look at many nodes; null = none
  [[nodiscard]] std::optional<Choice> choose(const model::PodDemand& demand,
                                             const model::NodeState& node,
                                             model::SearchBudget& budget,
                                             model::CardMemo* memo = nullptr) const {
    return do_choose(demand, node, budget, memo);
  }
  /// The same for one node, whatever the search costs.
  [[nodiscard]] std::optional<Choice> choose(const model::PodDemand& demand,
                                             const model::NodeState& node) const {
    model::SearchBudget no_limit;
    return do_choose(demand, node, no_limit, nullptr);
  }

  /// For a look at many nodes.
  /// @param demand  outlives what is returned, as does the policy. If it names cards, nodes that
  ///                look alike differ, and briefs do not suffice
  /// @returns null if briefs do not suffice for the policy and this demand
  [[nodiscard]] virtual std::unique_ptr<BriefScorer> brief_scorer(
      const model::PodDemand& /*demand*/) const {
    return nullptr;
  }

 private:
  [[nodiscard]] virtual std::optional<Choice> do_choose(const model::PodDemand& demand,
                                                        const model::NodeState& node,
                                                        model::SearchBudget& budget,
                                                        model::CardMemo* memo) const = 0;
};

}  // namespace tangram::policies
