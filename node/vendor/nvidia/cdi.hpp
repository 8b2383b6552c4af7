#pragma once

#include "base/result.hpp"
#include "node/container/cdi_spec.hpp"

#include <map>
#include <string>
#include <vector>

namespace tangram::node::nvidia {

/// The edits of NVIDIA's own CDI specs on this node (`nvidia-ctk cdi generate`) for these cards:
/// device nodes, the driver's libraries, hooks. With them a container sees its card under any
/// runtime, and its environment cannot change that.
///
/// Reads the specs of kind nvidia.com/gpu in the folders, the later folder first, as the runtime
/// does.
/// @returns empty lists unless every card has a device with its UUID there;
///          kInvalidArgument if a spec of that kind cannot be read
Result<CdiEdits> cdi_edits(const std::vector<std::string>& folders,
                           const std::vector<std::string>& cards);

/// The same of each card by itself, by one reading of the specs.
Result<std::map<std::string, CdiEdits>> cdi_edits_of_each(const std::vector<std::string>& folders,
                                                          const std::vector<std::string>& cards);

}  // namespace tangram::node::nvidia
