#pragma once

#include "node/container/journal.hpp"
#include "node/kubelet/container_runtime.hpp"

#include <string>
#include <vector>

/// Whether a running container was created with its CDI device. Pure functions.
namespace tangram::node {

/// The agent has let this container start, with a spec that adds kAllocationVariable; specs of
/// earlier agents do not.
[[nodiscard]] bool must_have_device(const RuntimeContainer& container,
                                    const std::vector<JournalEntry>& journal);

/// The environment names one of the container's allocations: kubelet has several for a container
/// after it has lost its record. Where a variable carries the device (NamePath::kEnvironment), that
/// variable does.
[[nodiscard]] bool has_device(const RuntimeContainer& container,
                              const std::vector<std::string>& environment,
                              const std::vector<JournalEntry>& journal);

}  // namespace tangram::node
