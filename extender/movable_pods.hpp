#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "cluster/disruption_budgets.hpp"
#include "cluster/places.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "extender/scheduler_rules.hpp"
#include "kube/api.hpp"
#include "model/ledger.hpp"
#include "model/snapshot.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace tangram::extender {

/// Was the request refused for now, or is its outcome unknown? Another try may succeed.
[[nodiscard]] bool is_unanswered(const Error& error);

/// Why a move is not safe.
struct MoveObstacle {
  std::string why;          ///< empty = nothing speaks against it
  bool of_node = false;     ///< the node that the pod is to come to is the reason
  bool of_waiting = false;  ///< the waiting pod needs no moves: it has a node, or is gone
  bool unknown = false;     ///< the API server did not answer: another try may succeed
  explicit operator bool() const { return !why.empty(); }
};

/// What a plan of moves has to know of pods and nodes beyond the ledger: who makes a pod anew, and
/// which nodes take it then. That is not kept of all pods of a cluster, so a plan's candidates are
/// read as it asks about them, a bounded number for each plan, and remembered for the next one.
/// Threads: one at a time.
class MovablePods {
 public:
  /// In one plan. Others stay where they are, and the next plan goes on with them.
  static constexpr std::size_t kMostReads = 200;
  /// Pods remembered; those of former plans that are gone or old are forgotten first.
  static constexpr std::size_t kMostKnown = 4'096;
  /// A controller's template does not change the pods that it has made, but their labels may.
  static constexpr std::chrono::seconds kRemembered{1'800};

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    const cluster::PolicySource& policies;
    const cluster::PodTable& pods;
    std::chrono::milliseconds api_timeout{4'000};
  };
  explicit MovablePods(const Parts& parts) : parts_(parts) {}

  /// Begins a plan: reads all nodes.
  /// @returns kUnavailable: another try may succeed
  Result<void> begin();

  /// By what the ledger has, without reading the pod.
  [[nodiscard]] static bool may_be_movable(const model::Allocation& pod);
  /// The pod that its controller makes in the place of this one.
  /// @returns null if it may not move, or could not be read: then it stays
  [[nodiscard]] std::shared_ptr<const cluster::PlacelessPod> next_of(
      const model::Allocation& pod, const model::ClusterSnapshot& cluster,
      const cluster::BudgetList& budgets);
  /// Were all pods read that this plan asked about? If not, the next plan may find more.
  [[nodiscard]] bool knows_all() const { return reads_ < kMostReads; }
  /// Does the node take the next pod of one that next_of() was asked about?
  [[nodiscard]] bool takes(const std::string& uid, const std::string& node) const;
  /// Do pods come to the node at all: ready and not cordoned?
  [[nodiscard]] bool is_open(const std::string& node) const;

  /// By the pod, the node that its next pod is to come to and the pods there, read at this moment.
  [[nodiscard]] MoveObstacle obstacle(const model::Allocation& pod, const std::string& to);
  /// The same of a waiting pod, of which kube-scheduler has asked about the node.
  [[nodiscard]] MoveObstacle obstacle(const kube::Pod& waiting, const std::string& to) const;

 private:
  struct Known {
    TimePoint at;
    bool movable = false;
    kube::Pod pod;
    cluster::PodRules rules;
  };
  [[nodiscard]] const Known* find(const model::Allocation& pod);
  Result<Known> read(const cluster::PodName& pod) const;
  [[nodiscard]] static std::pair<std::string, std::string> owner_of(const kube::Pod& pod);
  [[nodiscard]] MoveObstacle guard_of(const std::string& node) const;

  const Parts parts_;
  std::map<std::string, Known, std::less<>> known_;  ///< by UID
  NodeRulesByName nodes_;
  /// Controllers that had a pod without a node when the plan began: namespace, "kind/name".
  std::set<std::pair<std::string, std::string>> waiting_;
  std::size_t reads_ = 0;
};

}  // namespace tangram::extender
