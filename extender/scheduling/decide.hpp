#pragma once

#include "base/parallel_loops.hpp"
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

/// What the pod of this request can expect of nodes: a policy's word, or a cache's before it. Asked
/// of many at a time, and writes the verdict on each one to its place; where no node is found there
/// (null), it writes nothing.
/// @returns how often the policy was asked, which takes time
using Judge = std::function<std::size_t(std::span<const model::ClusterSnapshot::Found> nodes,
                                        std::span<policies::Verdict> verdicts)>;

/// For threads that share a filter.
struct SharedJudge {
  Judge own;                          ///< of the thread that calls
  std::function<Judge()> for_thread;  ///< each other thread has its own; all judge alike
  ParallelLoops& threads;
};

/// Which nodes can take a pod?
struct FilterQuestion {
  std::span<const std::string_view> names;  ///< ties between nodes go to the one asked first
  const model::PodDemand& demand;
  const NodeSet& refused;                ///< nodes that rank after all others
  std::size_t short_list = 0;            ///< how many to keep; 0 = all that fit
  int priority = 0;                      ///< of the pod
  std::string_view nominated_node = {};  ///< where others were evicted for it; empty = none
};

/// Sorts the asked nodes into a short-list of the best, or those that cannot take the pod.
///
/// @returns kept: best first; without a short list only the first is the best, and the others are
///          in the order asked, refused ones last. If any is kept, the other nodes appear nowhere:
///          kube-scheduler reads the reasons only if no node is left. A node is unresolvable if an
///          eviction could not help, so kube-scheduler need not try: where it lacks what no pod
///          takes, and where no pod with cards is less important. A node the ledger does not know
///          takes only pods that ask for no card.
FilterResult filter(const FilterQuestion& question, const PodView& cluster, const Judge& judge);

/// The same answer. If the first nodes show that the policy is asked often, several threads judge
/// the rest.
FilterResult filter(const FilterQuestion& question, const PodView& cluster,
                    const SharedJudge& judge);

/// Spreads 0..10 over the nodes by the policy's score. Exactly one node gets 10: the best, on a
/// tie the one asked first. Nodes that do not fit, or are refused, get 0.
std::vector<HostScore> prioritize(std::span<const std::string_view> names, const PodView& cluster,
                                  const Judge& judge, const NodeSet& refused);

/// Would the pod fit one of the nodes if reservations and binds under way came to nothing? Then
/// it does not fit yet, rather than not at all.
/// @param unsettled  as Ledger::unsettled(), of the same moment as the cluster
/// @param budget     where it does not suffice, the pod is taken to fit
bool fits_without(const std::vector<model::AllocationPtr>& unconfirmed,
                  std::span<const std::string_view> names, const model::PodDemand& demand,
                  const PodView& cluster, const policies::Policy& policy,
                  model::SearchBudget& budget);

}  // namespace tangram::extender
