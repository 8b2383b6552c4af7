#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "model/snapshot.hpp"

namespace tangram::bench {

/// Checks that the API server alone says what the running ledger say: rebuilds the ledger from a
/// LIST of nodes and pods, compares them with `running` node by node, and looks for cards over
/// capacity and for pods that hold a slot and a node but no grant.
/// @returns kConflict with the first difference
Result<void> audit(kube::KubeApi& api, const Clock& clock, const model::ClusterSnapshot& running);

}  // namespace tangram::bench
