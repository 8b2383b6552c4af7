#pragma once

#include "node/cards/card_source.hpp"
#include "node/container/grant_check.hpp"
#include "node/container/journal.hpp"
#include "node/container/processes.hpp"
#include "node/pods/local_pods.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// What all containers of the node hold of its cards.
///
/// Containers that were admitted hold what the journal says, whatever has become of their pods'
/// annotations: as long as the API server names the pod, and then until its last process has ended
/// (`leaving`); while the API server has not named the pods yet, all of them. Containers that hold
/// a slot and were not admitted yet hold what their pods' grants say.
[[nodiscard]] std::vector<CardClaim> card_claims(const PodSource& pods, const Journal& journal,
                                                 const Processes& processes);

/// Memory that processes hold on these cards whose pods the API server does not name and who have
/// no claim either: pods that were deleted by force, when the journal was lost.
/// @returns kUnavailable if the driver does not answer
Result<std::vector<Leftover>> leftovers(CardSource& source, const std::vector<std::string>& cards,
                                        const PodSource& pods, const Processes& processes,
                                        const std::vector<CardClaim>& claims);

}  // namespace tangram::node
