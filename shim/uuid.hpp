#pragma once

#include "shim/pages.hpp"

#include <optional>
#include <string_view>

namespace tangram::shim {

/// The 16 bytes of a card's id, "GPU-01234567-89ab-cdef-0123-456789abcdef", or of a MIG instance's,
/// "MIG-…": what agent and stand-in libraries know a card by.
/// @returns nothing for all else, such as the ids of MIG instances before r470, "MIG-GPU-…/1/0"
[[nodiscard]] std::optional<Uuid> uuid_of(std::string_view card);

}  // namespace tangram::shim
