#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string_view>

namespace tangram::cli {

/// When the last of the certificates in a PEM text ends to be valid: of a bundle of authorities one
/// good one is enough.
/// @returns kInvalidArgument if there is none
Result<WallTime> last_expiry(std::string_view pem);

}  // namespace tangram::cli
