#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace tangram {

/// The whole of a file, byte for byte.
/// @returns kNotFound if it cannot be read: missing, a folder, or not ours to read
[[nodiscard]] Result<std::string> read_file(const std::string& path);

/// Replaces a file, or makes it, at once: readers see the old text or the new one, also if this
/// process is killed. It is not forced to the disk: a machine that loses power may lose it.
/// The text is written under `path` + kPartSuffix first. Readable by all.
/// @returns kUnavailable with the system's reason; the old file is as it was
Result<void> replace_file(const std::string& path, std::string_view text);
inline constexpr std::string_view kPartSuffix = ".part";

/// Makes a file that only its owner can read, from its first byte on: for secrets.
/// @returns kConflict     something is there already; it is left alone
///          kUnavailable  with the system's reason; no file is left
Result<void> create_private_file(const std::string& path, std::string_view text);

}  // namespace tangram
