#pragma once

#include "base/result.hpp"
#include "node/audit/memory_check.hpp"
#include "node/cards/card_source.hpp"

#include <cstdint>
#include <map>

namespace tangram::node {

/// Sends SIGKILL to the processes of a container on a card, and to no other process.
///
/// Between the look that found them and the signal, a process may end and another one get its
/// number. So each is opened first; then the driver must still list its number on the card, and
/// /proc must show the same container. A number that was used again before it was opened fails one
/// of the two unless the new process, too, is the container's and on the card.
///
/// @param use  its `processes` are ended
/// @returns for each process that was signalled, and each that could not be: kUnavailable with the
///          system's reason. Processes that have ended, left the card, or are elsewhere are not in
///          it, and none is if the driver does not answer.
std::map<std::int64_t, Result<void>> terminate(const MemoryUse& use, CardSource& source,
                                               const Processes& processes);

}  // namespace tangram::node
