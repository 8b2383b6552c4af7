#pragma once

#include "kube/objects.hpp"
#include "model/grant_reading.hpp"
#include "model/node_state.hpp"
#include "model/placement.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Between pods as the API server has them and allocations as the ledger has them.
namespace tangram::cluster {

/// A pod of 1.5 MB in etcd may have 100,000 labels, which take 20 MB here: some dozen such pods
/// would take all memory of the extender. Honest pods have less than 100. The labels of a pod with
/// more than this are not kept: a preemption finds no disruption budget that selects it.
inline constexpr std::size_t kMaxLabels = 1'000;

/// What the pod will hold on the node with these cards. Says what its grant will say, so that
/// the watch shows exactly what the ledger has.
[[nodiscard]] model::Allocation allocation_for(const kube::Pod& pod, const model::NodeState& node,
                                               const model::PodDemand& demand,
                                               const model::Placement& placement);
/// The same for a pod that asks for no card.
[[nodiscard]] model::Allocation allocation_without_cards(const kube::Pod& pod,
                                                         std::string_view node);

/// What a bound pod holds, by its own record.
struct Recorded {
  model::Allocation allocation;    ///< without cards if there is no valid grant of its own
  std::string grant_problem = {};  ///< "is not valid: ..."; empty = a good grant, or none
  std::string grant_key = {};      ///< model::GrantReading::key; empty = it has no grant
  std::string issued_at = {};      ///< RFC 3339, of a good grant; empty = none
};
/// @param check  as of model::read_grant(); empty = signatures are not looked at
[[nodiscard]] Recorded recorded_allocation(const kube::Pod& pod,
                                           const model::SignatureCheck& check);

/// What no revision of a grant changes: the isolation, and what model::same_cards() compares.
[[nodiscard]] bool same_cards(const model::Allocation& a, const model::Allocation& b);

/// The same revision, of the same amounts. Former amounts are left out: the ledger adds those that
/// still count.
[[nodiscard]] bool same_revision(const model::Allocation& a, const model::Allocation& b);

}  // namespace tangram::cluster
