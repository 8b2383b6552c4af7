#pragma once

#include "base/clock.hpp"
#include "cluster/places.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"
#include "extender/evictor.hpp"
#include "extender/scheduler_rules.hpp"
#include "kube/api.hpp"
#include "model/snapshot.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tangram::extender {

/// Pods on broken cards, for an Evictor: who they are, what replaces them, and whether their next
/// pods find a place. What replaces a pod is not kept of the pods of a cluster, so these few are
/// read. Threads: one at a time.
class BrokenCardPods {
 public:
  /// Pods read in one look.
  static constexpr std::size_t kMostReads = 5;
  /// After a pod or the nodes could not be read.
  static constexpr std::chrono::seconds kUntilNextRead{10};
  /// The nodes are read anew after this time, if a pod is to leave and there is room: one may have
  /// been cordoned. A list of 20,000 is some 300 MB.
  static constexpr std::chrono::seconds kNodesRemembered{30};
  /// The next pod of one that was evicted is placed within this time. Until then its room is kept
  /// from the next pods of others, on the copy on which these are tried.
  static constexpr std::chrono::seconds kUntilPlaced{10};
  /// Of the searches for a place, in steps: about 50 ms.
  static constexpr std::int64_t kSteps = 1'000'000;

  struct Parts {
    kube::KubeApi& api;  ///< all outlive it
    const Clock& clock;
    const cluster::PolicySource& policies;
    const cluster::PodTable& pods;
    std::chrono::milliseconds api_timeout{4'000};
  };
  explicit BrokenCardPods(const Parts& parts) : parts_(parts) {}

  /// @param may_read  else pods that were not read before are named without their controller
  [[nodiscard]] std::vector<EvictionCase> look(const model::ClusterSnapshot& cluster,
                                               bool may_read);
  /// Why the pod has to stay for now; "" = its next pod finds a place on a copy of the cluster, and
  /// no other pod of its controller waits for one. Rules of nodes count; those about other pods are
  /// kube-scheduler's alone.
  [[nodiscard]] std::string obstacle(const EvictionCase& one, const cluster::SharedLedger& ledger);
  /// The pod was evicted.
  void evicted(const EvictionCase& one);

 private:
  /// The pod that a controller makes in place of one that leaves.
  struct Next {
    cluster::PlacelessPod pod;
    cluster::PodRules rules;
  };
  struct Known {
    kube::Controller controller;
    std::optional<Next> next;  ///< nothing = its annotations cannot be read any more
  };
  struct Claim {
    Next next;
    TimePoint until;
  };

  /// @returns null if it cannot be read now
  [[nodiscard]] const Known* read(const cluster::PodName& pod);
  /// @returns whether nodes_ is of these last seconds
  bool read_nodes();
  /// By the ledger alone, or also by nodes_.
  enum class Rules { kOfLedger, kOfNodes };
  [[nodiscard]] std::string hindrance(const Known& known, const std::string& ns,
                                      const model::ClusterSnapshot& cluster, Rules rules);
  [[nodiscard]] bool finds_place(const Next& next, const model::ClusterSnapshot& cluster,
                                 Rules rules);

  const Parts parts_;
  std::map<std::string, Known, std::less<>> known_;  ///< by UID
  std::vector<Claim> claims_;
  NodeRulesByName nodes_;  ///< as of nodes_at_
  std::optional<TimePoint> nodes_at_;
  TimePoint next_read_{};
  TimePoint next_nodes_read_{};
};

}  // namespace tangram::extender
