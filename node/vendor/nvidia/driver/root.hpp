#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// A folder that is the root of a file system tree: the host's, as this program sees it, or a
/// driver's. Symbolic links are followed as for a process that has it as its root, and never lead
/// out of it. Paths begin with '/'. Threads: safe.
class Root {
 public:
  /// @param path  "" = this program's own root; "/proc/1/root" = the host's, for a privileged
  ///              container in the host's PID namespace
  explicit Root(std::string path) : path_(std::move(path)) {}

  /// The same file's path without symbolic links; nothing if there is no such file.
  [[nodiscard]] std::optional<std::string> resolve(std::string_view path) const;

  /// As this program opens it. Only for a path of resolve(): links in others lead elsewhere.
  [[nodiscard]] std::string open_path(std::string_view path) const {
    return path_ + std::string(path);
  }

  /// The names in a folder, sorted; none if it cannot be read.
  [[nodiscard]] std::vector<std::string> names_in(std::string_view folder) const;

 private:
  std::string path_;
};

}  // namespace tangram::node::nvidia
