#pragma once

#include "base/units.hpp"
#include "model/snapshot.hpp"
#include "policies/workload.hpp"

#include <cstddef>

namespace tangram::cluster {

/// What the cluster's idle cards are worth to the pods that come, and what is more than there.
struct Idle {
  double idle = 0;        ///< thousandths of a card that no pod has
  double fragmented = 0;  ///< of those, what the recent requests cannot use
  Mebibytes stranded;     ///< free memory of cards without free compute
  std::size_t cards = 0;
  std::size_t over_granted = 0;  ///< cards with more on them than they have
  std::size_t stray_grants = 0;  ///< of cards that are not there
};

/// Pure; goes once over all cards.
[[nodiscard]] Idle measure_idle(const model::ClusterSnapshot& cluster,
                                const policies::Workload& workload);

}  // namespace tangram::cluster
