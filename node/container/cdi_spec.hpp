#pragma once

#include "base/result.hpp"
#include "node/isolation/enforcer.hpp"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node {

/// containerEdits of other people's CDI specs, put together: by member ("deviceNodes", "mounts",
/// "hooks", "env" …) the elements, as JSON.
struct DrawnEdits {
  std::string cdi_version;  ///< the newest that any of them needs; empty = none
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  friend bool operator==(const DrawnEdits&, const DrawnEdits&) = default;
};

/// "0.6.0" is older than "0.10.0". Of each number what stands before anything but digits counts.
[[nodiscard]] bool older_version(std::string_view a, std::string_view b);

/// The CDI spec (Container Device Interface, github.com/cncf-tags/container-device-interface) of
/// one allocation: a file with one device.
///
/// @param name   of the device: letters, digits, '.', '_', '-', ':'; begins and ends with an
///               alphanumeric character
/// @param edits  what every container that is given the device gets
/// @param drawn  what comes before that
[[nodiscard]] std::string encode_cdi_spec(std::string_view name, const ContainerEdits& edits,
                                          const DrawnEdits& drawn);

/// The folder from which the container runtime reads CDI specs; of its files only those that begin
/// with kFilePrefix are ours. Threads: safe.
///
/// containerd does not read the folder when it creates a container: it is told of changes by
/// inotify, and listens for removal, renaming away and writing only. A file must therefore be made
/// under another name in this same folder and renamed; one that is moved in from elsewhere is not
/// seen.
class CdiFolder {
 public:
  static constexpr std::string_view kFilePrefix = "tangram.dev-slot-";

  /// Removes what a killed agent left half written.
  explicit CdiFolder(std::string path);

  /// Puts a spec in place, unless the file says just that already. Makes the folder if need be.
  /// @returns whether it was written; kUnavailable if it cannot be
  [[nodiscard]] Result<bool> put(std::string_view name, const std::string& spec) const;
  /// @returns whether there was one
  bool remove(std::string_view name) const;
  /// The names of our specs.
  [[nodiscard]] std::set<std::string> names() const;

 private:
  [[nodiscard]] std::string file(std::string_view name) const;
  std::string path_;
  mutable std::mutex writing_;  ///< two writers of one name would share a file to write to
};

}  // namespace tangram::node
