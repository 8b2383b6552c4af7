#pragma once

#include "cluster/findings.hpp"
#include "model/snapshot.hpp"

#include <string>
#include <vector>

/// Pods whose cards are broken, or are to be emptied.
namespace tangram::cluster {

/// A pod that was granted such a card.
struct PodOnBrokenCard {
  PodName pod;
  std::string why;        ///< "its card GPU-1 is unhealthy: ..."
  bool draining = false;  ///< an operator wants the card empty; it may be healthy
};

/// Those that are not terminating, by UID. Pure.
[[nodiscard]] std::vector<PodOnBrokenCard> pods_on_broken_cards(
    const model::ClusterSnapshot& cluster);

}  // namespace tangram::cluster
