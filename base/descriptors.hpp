#pragma once

#include <cstddef>

namespace tangram {

/// Raises what this process may have open at a time to the most the system lets it.
/// @returns that number
std::size_t raise_descriptor_limit();

}  // namespace tangram
