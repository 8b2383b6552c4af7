#pragma once

#include "model/card.hpp"
#include "model/node_state.hpp"
#include "model/request.hpp"
#include "tests/model/naive_ledger.hpp"

/// The model's values as those of the naive ledger.
namespace tangram::model {

namespace naive = testing::naive;

[[nodiscard]] naive::Node naive_node(const NodeInventory& what);
[[nodiscard]] naive::Pod naive_pod(const Allocation& allocation);

/// Of a request that random_request() makes: other lists of models and cards are not understood.
[[nodiscard]] naive::Request naive_request(const GpuRequest& request);

}  // namespace tangram::model
