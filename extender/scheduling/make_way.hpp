#pragma once

#include "extender/scheduling/decide.hpp"
#include "extender/scheduling/pod_view.hpp"
#include "model/ledger.hpp"
#include "policies/policy.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Reservations yield to more important pods: nothing was written for them, and a pod that loses
/// its reservation only goes through scheduling once more. Pure.
namespace tangram::extender {

/// A node where some reservations end for a pod.
struct Displacement {
  model::NodeState node;          ///< without them
  policies::Choice choice;        ///< of the pod, there
  model::Ledger::Uids displaced;  ///< the pods that have them
};

/// The node without all reservations of pods less important than that.
/// @returns nothing if there is none, so the node is as it is
[[nodiscard]] std::optional<model::NodeState> without_yielding(const model::NodeState& node,
                                                               int priority);

/// Ends as few reservations as the pod needs, those of the least important pods first.
/// @param budget  of the searches
/// @returns nothing if the pod does not fit even without all that yield
[[nodiscard]] std::optional<Displacement> make_way(const model::NodeState& node,
                                                   const model::PodDemand& demand,
                                                   const policies::Policy& policy, int priority,
                                                   model::SearchBudget& budget);

struct DisplacementOn : Displacement {
  std::uint32_t index = 0;  ///< of the node, in the order asked
  bool more = false;        ///< other nodes would do, too
};
struct AskedNodes {
  std::span<const std::string_view> names;
  const NodeSet& refused;  ///< to be taken last
};
/// Of the nodes asked about, the one that the policy likes best once reservations made way; on a
/// tie the one asked first.
/// @param unconfirmed  as Ledger::unconfirmed(), of the same moment as the cluster
[[nodiscard]] std::optional<DisplacementOn> make_way_on_best(
    const std::vector<model::AllocationPtr>& unconfirmed, const AskedNodes& asked,
    const model::PodDemand& demand, const PodView& cluster, const policies::Policy& policy,
    int priority, model::SearchBudget& budget);

}  // namespace tangram::extender
