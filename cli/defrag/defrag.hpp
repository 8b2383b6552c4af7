#pragma once

#include "cli/cluster.hpp"
#include "cli/screen.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/findings.hpp"
#include "cluster/move_request.hpp"
#include "cluster/moves.hpp"
#include "cluster/node_rules.hpp"
#include "kube/api.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// `defrag`: which few pods would have to move so that waiting pods fit. Writes nothing; run.hpp
/// has a plan carried out.
namespace tangram::cli {

/// The cluster, with what the API server says beyond its ledger.
struct DefragCluster {
  std::unique_ptr<Cluster> cluster;
  cluster::BudgetList budgets;
  std::map<std::string, cluster::NodeRules, std::less<>>
      nodes;  ///< by name; a node without takes no pod
  std::map<std::string, cluster::PodRules, std::less<>> pods;  ///< by UID; a pod without stays
  /// Nodes with a pod that must not run beside certain others: which, is not looked at.
  std::set<std::string, std::less<>> guarded;
};
/// @returns as Cluster::read()
Result<DefragCluster> read_defrag_cluster(kube::KubeApi& api, const ClusterSettings& settings,
                                          const Clock& clock);

/// What a pod has, or would get.
struct Seat {
  std::string node;
  std::vector<model::ContainerGrant> containers;
};
struct Defrag {
  struct Move {
    cluster::PodName pod;
    Seat from;
    Seat to;
  };
  struct Run {
    cluster::PodName pod;
    std::string request;  ///< "2 cards"
    Seat seat;
    std::size_t after = 0;  ///< so many of the first moves
  };
  struct LeftOut {
    cluster::PodName pod;
    std::string why;
  };
  std::vector<Move> moves;
  std::vector<Run> runs;
  std::vector<LeftOut> left_out;  ///< waiting pods for which nothing can be planned
  std::size_t waiting = 0;        ///< pods that request cards and have no node
  std::size_t fit_already = 0;    ///< of them
  std::int64_t gained_milli = 0;
  std::int64_t moved_milli = 0;
  bool cut_short = false;

  /// Pods wait that need moves, and there is no plan for any of them.
  [[nodiscard]] bool helpless() const {
    return moves.empty() && waiting > fit_already + left_out.size();
  }
};

[[nodiscard]] Defrag plan_defrag(const DefragCluster& cluster, std::size_t most_moves);

/// @param wide  whole UUIDs
/// @returns the plan and what it is good for, without the end of the last line
[[nodiscard]] std::string draw_defrag(const Screen& screen, const Defrag& defrag, bool wide);
/// {"moves": [{"namespace", "name", "uid", "from": {"node", "containers": [{"name",
/// "cards": [{"uuid", "memMiB", "milli"}]}]}, "to"}], "runs": [{"namespace", "name", "uid",
/// "request", "to", "afterMoves"}], "leftOut": [{"namespace", "name", "uid", "why"}], "waiting",
/// "fitAlready", "gainedMilli", "movedMilli", "cutShort", "run": {"state": "done" | "stopped",
/// "evicted", "placed", "message"}}
/// @param outcome  of --run; without it, the object has no "run"
[[nodiscard]] std::string defrag_json(
    const Defrag& defrag, const std::optional<cluster::MoveProgress>& outcome = std::nullopt);

}  // namespace tangram::cli
