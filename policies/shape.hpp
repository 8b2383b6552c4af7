#pragma once

#include "model/node_state.hpp"

#include <cstddef>

namespace tangram::policies {

/// What every policy sees of a pod: names, the policy asked for and burst limits are left out,
/// because scheduling counts requests only. Pods of one shape get the same answer on a node.
[[nodiscard]] model::PodDemand shape_of(model::PodDemand demand);

/// For hashed containers of shapes.
struct ShapeHash {
  [[nodiscard]] std::size_t operator()(const model::PodDemand& shape) const;
};

}  // namespace tangram::policies
