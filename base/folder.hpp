#pragma once

#include <functional>
#include <set>
#include <string>

namespace tangram {

/// Removes from a folder, which may be missing, all files and folders but those of these names.
/// What cannot be removed stays.
void remove_all_but(const std::string& folder, const std::set<std::string, std::less<>>& names);

}  // namespace tangram
