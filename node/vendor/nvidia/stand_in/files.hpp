#pragma once

#include "base/result.hpp"
#include "node/vendor/nvidia/stand_in/edits.hpp"

#include <string>

namespace tangram::node::nvidia {

/// Copies the stand-in libraries from the agent's image to a folder of the host, where containers
/// can mount them: FOLDER/HASH/libcuda.so.1 and …/libnvidia-ml.so.1. The folder is named after what
/// is in it and never changes: replacing a library under running programs would crash them. Folders
/// of earlier versions stay, some 300 KiB each: a container that starts again still names them.
///
/// @param from    the image's folder with both libraries
/// @param folder  the same path on the host and in the agent's container
/// @returns kNotFound     the image has no stand-in libraries
///          kUnavailable  the folder cannot be written
Result<StandInPaths> install_stand_ins(const std::string& from, const std::string& folder);

}  // namespace tangram::node::nvidia
