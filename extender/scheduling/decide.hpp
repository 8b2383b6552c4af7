#pragma once

#include "extender/scheduling/node_walk.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "extender/scheduling/wire.hpp"
#include "model/snapshot.hpp"
#include "policies/choice_cache.hpp"
#include "policies/policy.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The decisions behind the verbs. Pure: the same arguments give the same answer, so a recorded
/// request can be replayed.
namespace tangram::extender {

using NodeSet = std::set<std::string, std::less<>>;

/// What the pod of this request can expect of a node: a policy's word, or a cache's before it.
using Judge = std::function<policies::Verdict(const model::ClusterSnapshot::Found& node)>;

/// Sorts the asked nodes into a short-list of the best and those that cannot take the pod.
///
/// @param names       as asked; ties between nodes go to the one asked first
/// @param refused     nodes that rank after all others
/// @param short_list  how many to keep; 0 = all that fit
/// @returns kept: best first; a node that fits but is not on the short-list appears nowhere.
///          A node the ledger does not know takes only pods that ask for no card.
FilterResult filter(std::span<const std::string_view> names, const model::PodDemand& demand,
                    NodeWalk walk, const Judge& judge, const NodeSet& refused,
                    std::size_t short_list);

/// Spreads 0..10 over the nodes by the policy's score. Exactly one node gets 10: the best, on a
/// tie the one asked first. Nodes that do not fit, or are refused, get 0.
std::vector<HostScore> prioritize(std::span<const std::string_view> names, const PodView& cluster,
                                  const Judge& judge, const NodeSet& refused);

/// Would the pod fit one of the nodes if reservations and binds under way came to nothing? Then
/// it does not fit yet, rather than not at all.
/// @param unsettled  as Ledger::unsettled(), of the same moment as the cluster
bool fits_without(const std::vector<model::AllocationPtr>& unconfirmed,
                  std::span<const std::string_view> names, const model::PodDemand& demand,
                  const PodView& cluster, const policies::Policy& policy);

}  // namespace tangram::extender
