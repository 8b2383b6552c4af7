#pragma once

#include "cluster/moves.hpp"

#include <cstddef>
#include <vector>

namespace tangram::cluster {

/// Wanted pods that are alike, but for the nodes that take them.
struct WantedKind {
  std::vector<std::size_t> waiting;  ///< indices, in order
};

/// Pods of one controller with equal requests and weights are of one kind. Each pod without a
/// controller is of its own. Pure.
/// @param waiting  indices of those that count
[[nodiscard]] std::vector<WantedKind> kinds_of(const std::vector<WantedPod>& wanted,
                                               const std::vector<std::size_t>& waiting);

}  // namespace tangram::cluster
