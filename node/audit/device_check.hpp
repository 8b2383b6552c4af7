#pragma once

#include "node/container/journal.hpp"
#include "node/kubelet/container_runtime.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Whether a running container was created with its CDI device. Pure functions.
namespace tangram::node {

/// Whether a container's time of creation counts: not if the clock may have been set back.
enum class Age : std::uint8_t { kAsCreated, kUnknown };

/// The entry with the claim whose mark (Claim::mark) the container must show: of the newest start
/// that the agent allowed before the container was created. Kubelet has several allocations for a
/// container after it has lost its record. A static pod has none: no scheduler places it, so it has
/// no grant.
/// @param age  kUnknown: of the newest start, whenever the container was created
/// @returns null if there is none: the container has no slot, or an earlier agent let it start
[[nodiscard]] const JournalEntry* due_entry(const RuntimeContainer& container,
                                            const std::vector<JournalEntry>& journal,
                                            Age age = Age::kAsCreated);

/// The variable's last value counts, as for the container's programs and the vendor's runtime.
[[nodiscard]] bool shows(const std::vector<std::string>& environment, std::string_view mark);

}  // namespace tangram::node
