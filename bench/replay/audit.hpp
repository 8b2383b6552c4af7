#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "kube/api.hpp"
#include "model/snapshot.hpp"

namespace tangram::bench {

/// Compares the running ledger with the API server: rebuilds the ledger from a LIST of nodes and
/// pods, compares it with `running` node by node, and looks for cards over capacity and for bound
/// pods that have a slot but no grant.
/// @returns kConflict with the first difference
Result<void> audit(kube::KubeApi& api, const Clock& clock, const model::ClusterSnapshot& running);

}  // namespace tangram::bench
