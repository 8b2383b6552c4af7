#pragma once

#include "base/json.hpp"
#include "model/fit.hpp"
#include "policies/policy.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// Why a pod waits, in a few sentences. For explain.cpp.
namespace tangram::cluster {

/// How one node looks to a pod.
struct NodeFit {
  const model::NodeState& node;
  std::optional<policies::Choice> choice;
  std::string_view blocked = {};                ///< where there is one: in_tree_misfit()
  model::Misfit misfit = model::Misfit::kRoom;  ///< where there is none
  bool fragmented = false;  ///< and the free parts of its cards would suffice together

  [[nodiscard]] std::int64_t score() const { return choice ? choice->score : 0; }
};

/// Looks at a node for a pod. Pure.
/// @param node    without the pod itself; outlives what is returned
/// @param budget  of the searches; once it is spent, a misfit is kNotTried
[[nodiscard]] NodeFit fit_on(const model::NodeState& node, const model::PodDemand& demand,
                             const policies::Policy& policy, model::SearchBudget& budget);

/// "fits none of 12 nodes: 8 x no GPU card has ...; 4 x ...".
class ExplainSummary {
 public:
  /// @param lead  why no scheduler places the pod, whatever the nodes have; empty = none is known
  ExplainSummary(std::string lead, const model::GpuRequest& request)
      : lead_(std::move(lead)),
        isolation_(request.asks_replicas() ? std::nullopt : std::optional(request.isolation)),
        memory_limits_(request.memory_limits) {}

  void add(const NodeFit& fit);
  /// Writes "fittingNodes", "blocked", "reasons" and "summary".
  void write(json::Writer& out) const;

 private:
  [[nodiscard]] std::string sentence() const;
  [[nodiscard]] std::string fits_some() const;
  [[nodiscard]] std::string fits_none() const;

  std::string lead_;
  std::optional<model::Isolation> isolation_;  ///< nothing = as the nodes say, of replicas
  model::MemoryLimits memory_limits_;
  std::size_t nodes_ = 0;
  std::size_t fitting_ = 0;                          ///< by their cards
  std::size_t fragmented_ = 0;                       ///< the room is there in sum, but on no card
  std::map<std::string_view, std::size_t> blocked_;  ///< fitting nodes, by NodeFit::blocked
  std::map<model::Misfit, std::size_t> reasons_;
};

}  // namespace tangram::cluster
