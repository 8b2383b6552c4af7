#pragma once

#include "base/result.hpp"

#include <functional>
#include <set>
#include <string>

namespace tangram {

/// Removes from a folder, which may be missing, all files and folders but those of these names.
/// What cannot be removed stays.
void remove_all_but(const std::string& folder, const std::set<std::string, std::less<>>& names);

/// Names of the files in a folder as which a ConfigMap is mounted: without those with a leading
/// dot, which are Kubernetes' own.
/// @returns kUnavailable if it cannot be read
Result<std::set<std::string>> config_map_files(const std::string& folder);

}  // namespace tangram
