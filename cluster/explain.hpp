#pragma once

#include "cluster/disruption_budgets.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "model/snapshot.hpp"

#include <cstddef>
#include <optional>
#include <string>

/// The two forms of GET /api/v1/explain, as JSON: docs/protocol.md. For views.cpp.
namespace tangram::cluster {

/// Why the pod waits.
/// @param most_nodes, budgets  as of explain_json()
[[nodiscard]] std::string explain_pending(const kube::Pod& pod, const PodPlan& plan,
                                          const model::ClusterSnapshot& cluster,
                                          const PodTable& pods,
                                          std::optional<std::size_t> most_nodes,
                                          const BudgetList* budgets);

/// What the pod holds, and why it has not started where its node shows that.
[[nodiscard]] std::string explain_bound(const model::Allocation& allocation,
                                        const model::ClusterSnapshot& cluster,
                                        const PodTable& pods);

}  // namespace tangram::cluster
