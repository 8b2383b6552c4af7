#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace tangram::node {

/// Copies files from the agent's image to the host, where containers and the container runtime can
/// use them: FOLDER/HASH/NAME. The hash is that of all of them, and the folder never changes: a
/// file that is replaced under running programs would crash them. Folders of earlier versions stay,
/// some MiB each, because a container that starts again still names them.
///
/// @param from    paths in the image; their names must differ
/// @param folder  the same path on the host and in the agent's container, not mounted noexec
/// @returns FOLDER/HASH;
///          kNotFound     the image lacks one of them
///          kUnavailable  the folder cannot be written
Result<std::string> install_on_host(const std::vector<std::string>& from,
                                    const std::string& folder);

}  // namespace tangram::node
