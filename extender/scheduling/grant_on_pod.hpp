#pragma once

#include "cluster/allocations.hpp"
#include "model/ledger.hpp"

/// What stands on a pod, which anyone may have written, beside what the ledger has.
namespace tangram::extender {

/// Is it a revision of the grant that the ledger has? A key vouches for it, if one did for that.
[[nodiscard]] bool is_ours(const cluster::Recorded& recorded, const model::Ledger::Entry& entry);

}  // namespace tangram::extender
