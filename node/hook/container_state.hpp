#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <istream>
#include <string>

namespace tangram::node::hook {

/// What the runtime says about the container that it is creating.
struct ContainerState {
  std::string id;
  std::int64_t pid = 0;  ///< of the container's first process, in the runtime's PID namespace
};

/// Of what the runtime writes to a hook. Annotations of a pod are at most 256 KiB; Go escapes some
/// characters in six bytes, and CRI-O passes all of them a second time inside another annotation.
inline constexpr std::size_t kMostStateBytes = std::size_t{4} << 20U;

/// Reads the OCI runtime's state of a container. Other members are passed over unread: nothing that
/// a pod's owner writes into an annotation keeps the container from its limits.
/// @returns kInvalidArgument  no JSON, no `id` of the characters that runtimes take, no `pid` above
/// 0
///          kTooLarge         over kMostStateBytes
[[nodiscard]] Result<ContainerState> decode_state(std::string text);

/// The same, from a stream, of which no more than kMostStateBytes + 1 are read.
[[nodiscard]] Result<ContainerState> read_state(std::istream& in);

}  // namespace tangram::node::hook
