#pragma once

#include "model/snapshot.hpp"

#include <sstream>
#include <string>

namespace tangram::testing {

inline void draw(std::ostream& out, const model::Allocation& allocation) {
  out << "  pod " << allocation.pod_uid << ' ' << allocation.pod_namespace << '/'
      << allocation.pod_name << " prio " << allocation.priority << ' ' << allocation.footprint.cpu
      << ' ' << allocation.footprint.memory << ' ' << to_string(allocation.isolation);
  for (const auto& container : allocation.containers) {
    out << " [" << container.container;
    for (const auto& card : container.cards) {
      out << ' ' << card.uuid << ' ' << card.memory << '/' << card.memory_limit << ' '
          << card.compute << '/' << card.compute_limit << ' ' << to_string(card.memory_limits);
    }
    out << ']';
  }
  out << '\n';
}

/// All that the ledger says, as text: equal pictures are equal ledgers. Versions are left out,
/// since they count changes; two ways to the same ledger may differ in them.
inline std::string picture_of(const model::ClusterSnapshot& cluster) {
  std::ostringstream out;
  for (const model::NodeState* as_is : cluster.sorted_nodes()) {
    const model::NodeState granted = model::granted_only(*as_is);  // reservations come and go
    const model::NodeState* node = &granted;
    out << node->name << (node->present ? "" : " (left)") << ' ' << node->requested.cpu << '/'
        << node->inventory->cpu << ' ' << node->requested.memory << '/' << node->inventory->memory
        << " stray " << node->stray_grants << '\n';
    for (std::size_t i = 0; i < node->cards().size(); ++i) {
      const model::CardUse& use = node->use[i];
      out << "  card " << node->cards()[i].id << ' ' << use.memory << ' ' << use.compute << " by "
          << use.sharers[0] << ',' << use.sharers[1] << ',' << use.sharers[2] << '\n';
    }
    for (const model::AllocationPtr& allocation : node->allocations) draw(out, *allocation);
  }
  return out.str();
}

}  // namespace tangram::testing
