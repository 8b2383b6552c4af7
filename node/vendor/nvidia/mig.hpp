#pragma once

#include <string_view>

namespace tangram::node::nvidia {

/// Whether a card is a MIG instance, by the id that NVIDIA's driver gives it.
[[nodiscard]] inline bool is_mig(std::string_view card) { return card.starts_with("MIG-"); }

}  // namespace tangram::node::nvidia
