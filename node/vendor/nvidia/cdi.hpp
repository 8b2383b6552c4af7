#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"

#include <string>
#include <vector>

namespace tangram::node {

/// What NVIDIA's own CDI specs on this node (`nvidia-ctk cdi generate`) say that a container needs
/// for these cards: device nodes, the driver's libraries, hooks. With it a container sees its card
/// under any runtime, and no environment variable of its own can change that.
///
/// Reads the specs of kind nvidia.com/gpu in the folders, the later folder first, as the runtime
/// does.
/// @returns nothing found (empty lists) if not every card has a device of its UUID there;
///          kInvalidArgument if a spec of that kind cannot be read
Result<DrawnEdits> draw_nvidia_edits(const std::vector<std::string>& folders,
                                     const std::vector<std::string>& cards);

/// @returns whether any spec of kind nvidia.com/gpu is there
[[nodiscard]] bool has_nvidia_specs(const std::vector<std::string>& folders);

}  // namespace tangram::node
