#pragma once

#include "cluster/allocations.hpp"
#include "kube/objects.hpp"
#include "model/ledger.hpp"

/// What stands on a pod, which anyone may have written, beside what the ledger has.
namespace tangram::extender {

/// Is it a revision of the grant that the ledger has? A key vouches for it, if one did for that.
[[nodiscard]] bool is_ours(const cluster::Recorded& recorded, const model::Ledger::Entry& entry);

/// The revision of the grant for this pod and node, whoever wrote it; -1 = there is none. Admission
/// lets no grant be replaced by one with a lower number.
[[nodiscard]] int revision_on(const kube::Pod& pod);

}  // namespace tangram::extender
