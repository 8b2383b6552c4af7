#pragma once

#include "base/result.hpp"

#include <string>

namespace tangram::extender {

/// What `tangram-extender grant-key` does: makes a key pair and writes grant.key, which only its
/// owner can read, and grant.pub into the folder, which is made if it is not there. Nothing is
/// overwritten.
/// @returns what to do with them, for people
///          kConflict     one of the files is there already
///          kUnavailable  they cannot be written
Result<std::string> make_grant_key(const std::string& folder);

}  // namespace tangram::extender
