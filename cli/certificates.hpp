#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <string_view>

namespace tangram::cli {

/// When the last of the certificates in a PEM text expires: a bundle of CAs is valid as long as one
/// of them is.
/// @returns kInvalidArgument if there is none
Result<WallTime> last_expiry(std::string_view pem);

}  // namespace tangram::cli
