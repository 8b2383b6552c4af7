#pragma once

#include "node/cards/card_source.hpp"
#include "node/container/grant_check.hpp"
#include "node/container/journal.hpp"
#include "node/container/processes.hpp"
#include "node/isolation/enforcers.hpp"
#include "node/pods/local_pods.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// The claims of all containers of the node to its cards.
///
/// An admitted container has the claim in the journal, whatever its pod's annotations are now: as
/// long as the API server has the pod, and then until its last process has ended (`ending`). Until
/// the pods have been listed all entries count. A container with a slot that was not admitted yet
/// has the claim of its pod's grant. A pod that the watch has not shown yet is not gone
/// (Journal::await_pod()).
[[nodiscard]] std::vector<CardClaim> card_claims(const PodSource& pods, const Journal& journal,
                                                 const Processes& processes);

/// The same without pods that are gone (`ending`), so that /proc need not be searched for their
/// processes.
[[nodiscard]] std::vector<CardClaim> claims_of_present(const PodSource& pods,
                                                       const Journal& journal);

/// To be called after pods have changed: ends Journal::await_pod() of those that are there.
void note_shown(const PodSource& pods, Journal& journal);

/// The pod with the grant that a container was admitted with. The signature was checked then; its
/// key may have been retired since.
[[nodiscard]] LocalPod as_admitted(LocalPod pod, const Claim& claim, std::string_view node);
/// The journal is enough to start a container again.
[[nodiscard]] LocalPodPtr pod_of(const Claim& claim, std::string_view node);

/// Memory on these cards of processes whose pods neither the API server has nor a claim: pods that
/// were deleted by force, after the journal was lost.
/// @returns kUnavailable if the driver does not answer
Result<std::vector<OrphanedMemory>> orphaned_memory(CardSource& source,
                                                    const std::vector<std::string>& cards,
                                                    const PodSource& pods,
                                                    const Processes& processes,
                                                    const std::vector<CardClaim>& claims);

/// The cards that containers share, by mode, and these containers. Only of admitted containers: a
/// grant alone is untrusted.
[[nodiscard]] SharedCards shared_cards(const std::vector<CardClaim>& claims);

/// The cards in the grants of these pods.
[[nodiscard]] std::set<std::string> granted_cards(const std::vector<LocalPodPtr>& pods);

}  // namespace tangram::node
