#pragma once

#include "base/result.hpp"
#include "node/vendor/nvidia/driver/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// The device nodes of these cards and of the driver as a whole, in the host's /dev:
/// "/dev/nvidia0". One that is missing is made: a driver container has its nodes in a /dev of its
/// own, and a host has none before a program has used the driver.
///
/// @param cards  UUIDs of physical cards
/// @returns kNotFound     the driver shows no such card, as of a MIG instance
///          kUnavailable  a node cannot be made, with what to do
[[nodiscard]] Result<std::vector<std::string>> device_nodes(const Root& host,
                                                            const std::vector<std::string>& cards);

}  // namespace tangram::node::nvidia
