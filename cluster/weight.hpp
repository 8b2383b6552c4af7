#pragma once

#include "model/node_state.hpp"

#include <cstddef>
#include <string>

namespace tangram::kube {
struct DisruptionBudget;
}  // namespace tangram::kube

/// About how much memory things take, in bytes: themselves and what they own on the heap. Equal
/// things weigh the same. Pure.
namespace tangram::cluster {

struct PodRecord;

[[nodiscard]] std::size_t weight_of(const std::string& text);
[[nodiscard]] std::size_t weight_of(const model::AllocationPtr& allocation);
[[nodiscard]] std::size_t weight_of(const model::NodeInventory& node);
[[nodiscard]] std::size_t weight_of(const PodRecord& record);
[[nodiscard]] std::size_t weight_of(const kube::DisruptionBudget& budget);

}  // namespace tangram::cluster
