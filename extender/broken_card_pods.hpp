#pragma once

#include "base/clock.hpp"
#include "cluster/places.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "extender/evictor.hpp"
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
  /// After a pod that could not be read.
  static constexpr std::chrono::seconds kUntilNextRead{10};
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
  /// no other pod of its controller waits for one.
  [[nodiscard]] std::string obstacle(const EvictionCase& one,
                                     const model::ClusterSnapshot& cluster);
  /// The pod was evicted.
  void evicted(const EvictionCase& one);

 private:
  struct Known {
    kube::Controller controller;
    /// Nothing = its annotations cannot be read any more.
    std::optional<cluster::PlacelessPod> next;  ///< the pod that its controller makes in its place
  };
  struct Claim {
    cluster::PlacelessPod next;
    TimePoint until;
  };

  /// @returns null if it cannot be read now
  [[nodiscard]] const Known* read(const cluster::PodName& pod);

  const Parts parts_;
  std::map<std::string, Known, std::less<>> known_;  ///< by UID
  std::vector<Claim> claims_;
  TimePoint next_read_{};
};

}  // namespace tangram::extender
