#pragma once

#include "base/clock.hpp"
#include "bench/replay/scheduler.hpp"
#include "model/ledger.hpp"
#include "policies/arrival_log.hpp"
#include "policies/choice_cache.hpp"
#include "policies/registry.hpp"
#include "policies/workload.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tangram::bench {

/// A device as the agent of such a node would report it: its id is "<node>-<index>".
[[nodiscard]] model::NodeInventory inventory_of(const TraceNode& node);

/// The devices of a node that a pod has, by their ids.
[[nodiscard]] std::vector<std::uint32_t> gpus_of(
    const std::vector<model::ContainerGrant>& containers, const std::string& node);

/// Replays against the ledger and a policy directly: no HTTP, no API server. The highest score
/// wins, on a tie the node that comes first. Learns prices from the arrivals as the extender does.
class InProcessScheduler final : public Scheduler {
 public:
  /// @param policy   a known name
  /// @param options  fixed for the replay: the expected workload, weights
  static Result<std::unique_ptr<InProcessScheduler>> create(const std::vector<TraceNode>& nodes,
                                                            std::string policy,
                                                            policies::PolicyOptions options);

  Result<std::optional<Placed>> place(PodNumber number, const TracePod& pod,
                                      const std::vector<std::size_t>& feasible) override;
  Result<void> remove(PodNumber number) override;
  Result<void> move(const std::vector<Move>& moves) override;
  Result<void> set_health(std::size_t node, const std::vector<std::uint32_t>& gpus,
                          bool healthy) override;
  [[nodiscard]] std::shared_ptr<const model::ClusterSnapshot> snapshot() override {
    return ledger_.snapshot();
  }
  /// The one in force. Valid until the next pod is placed.
  [[nodiscard]] const policies::Policy& policy() const { return *policy_; }

 private:
  InProcessScheduler(const std::vector<TraceNode>& nodes, std::string policy,
                     policies::PolicyOptions options);
  void learn(const model::PodDemand& demand);
  void use(std::unique_ptr<const policies::Policy> policy);

  /// The best node, and what to do there.
  struct Decision {
    std::size_t node = 0;
    policies::Choice choice;
  };
  [[nodiscard]] std::optional<Decision> decide(const model::PodDemand& demand,
                                               const std::vector<std::size_t>& feasible);
  Result<void> assume(PodNumber number, const TracePod& pod, std::size_t node,
                      const model::Placement& cards);

  const std::vector<TraceNode>& nodes_;
  const std::string name_;
  policies::PolicyOptions options_;
  policies::ArrivalLog arrivals_{{}};
  policies::ArrivalWindow window_{{}};
  PodNumber arrived_ = 0;  ///< every pod before it was learned from
  std::unique_ptr<const policies::Policy> policy_;
  SystemClock clock_;
  model::Ledger ledger_;
  std::vector<model::NodeIndex> index_;           ///< of each trace node, in the ledger
  std::unique_ptr<policies::ChoiceCache> cache_;  ///< of policy_
  std::uint64_t decisions_ = 0;                   ///< each is one pod of its own
};

}  // namespace tangram::bench
