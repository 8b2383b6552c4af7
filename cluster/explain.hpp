#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/pod_groups.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The two forms of GET /api/v1/explain, as JSON: docs/protocol.md. For views.cpp.
namespace tangram::cluster {

/// Pods leave a node, and another one that waits gets room there then.
struct RoomBeingMade {
  std::string_view by;  ///< of static storage: "kube-scheduler", "preemption" or "moves"
  std::string node;
  std::vector<std::string> leaving;  ///< UIDs, also of those that have left
};

/// What an explanation can tell about besides nodes and pods.
struct KnownToExplain {
  const BudgetList* budgets = nullptr;  ///< who would be evicted for the pod; null = not to be told
  const PodGroups* groups = nullptr;    ///< the minimum of its group; null = not known
  /// The room that is made for a pod, by UID. Null = not known.
  std::function<std::optional<RoomBeingMade>(std::string_view pod_uid)> room = nullptr;
};

/// Why the pod waits.
/// @param most_nodes, known  as of explain_json()
[[nodiscard]] std::string explain_pending(const kube::Pod& pod, const PodPlan& plan,
                                          const model::ClusterSnapshot& cluster,
                                          const PodTable& pods, const PolicySource& policies,
                                          std::optional<std::size_t> most_nodes,
                                          const KnownToExplain& known);

/// What the pod holds, and why it has not started where its node shows that.
[[nodiscard]] std::string explain_bound(const model::Allocation& allocation,
                                        const model::ClusterSnapshot& cluster,
                                        const PodTable& pods);

}  // namespace tangram::cluster
