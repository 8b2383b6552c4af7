#pragma once

#include "base/result.hpp"
#include "cluster/explain.hpp"
#include "cluster/pod_table.hpp"
#include "cluster/policy_source.hpp"
#include "cluster/shared_ledger.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// The ledger as JSON, for people and tools. Pure readers of snapshots.
namespace tangram::cluster {

/// GET /api/v1/cluster: every node and card, what each pod holds of it, and the pods that wait.
[[nodiscard]] std::string cluster_json(const model::ClusterSnapshot& cluster, const PodTable& pods);

/// GET /api/v1/explain: for a pod that waits, per node and card whether it fits, and if not why,
/// with the numbers; for a bound pod what it holds. For both, what was found to be wrong with it.
/// @param most_nodes  write at most so many, those that fit and the best first;
///                    nothing = all, by name
/// @returns kNotFound if no pod of that name waits or is bound;
///          kInvalidArgument if its annotations are wrong
Result<std::string> explain_json(std::string_view ns, std::string_view name,
                                 const model::ClusterSnapshot& cluster, const PodTable& pods,
                                 const PolicySource& policies,
                                 std::optional<std::size_t> most_nodes = std::nullopt,
                                 const KnownToExplain& known = {});

}  // namespace tangram::cluster
