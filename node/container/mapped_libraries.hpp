#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// A file that a process has mapped.
struct MappedFile {
  std::string identity;  ///< "08:01 1234": device and inode, as the kernel writes them in any maps
  std::string path;      ///< in the process's own mount namespace; the process can choose it
  friend auto operator<=>(const MappedFile&, const MappedFile&) = default;
};

/// The mapped files that have the name of a library, or of a version of it: "libcuda.so" is also
/// "libcuda.so.550.54.15". Each once, in the order of their addresses. A process with very many
/// mappings costs no more than reading 8 MiB, which is what Linux allows by default.
/// @param maps  the path of a /proc/PID/maps
/// @returns kNotFound     there is no such process
///          kUnavailable  it has more mappings than that, or they may not be read
[[nodiscard]] Result<std::vector<MappedFile>> mapped_libraries(const std::string& maps,
                                                               std::string_view library);

/// What a file's identity is in the maps of processes. A file system may tell another device by
/// stat().
/// @returns kUnavailable with the reason if the file cannot be mapped
[[nodiscard]] Result<std::string> mapped_identity(const std::string& path);

}  // namespace tangram::node
