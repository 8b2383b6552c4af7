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

/// Merged containerEdits of the vendor's CDI specs: the elements of each member ("deviceNodes",
/// "mounts", "hooks", "env" …), as JSON.
struct CdiEdits {
  std::string cdi_version;  ///< the newest of these specs; empty = none
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  friend bool operator==(const CdiEdits&, const CdiEdits&) = default;
};

/// "0.6.0" is older than "0.10.0". Of each number the leading digits count.
[[nodiscard]] bool older_version(std::string_view a, std::string_view b);

/// The CDI spec (Container Device Interface, github.com/cncf-tags/container-device-interface) of
/// one allocation: a file with one device.
///
/// @param name    of the device: letters, digits, '.', '_', '-', ':'; begins and ends with an
///               alphanumeric character
/// @param edits  what every container that is given the device gets
/// @param drawn  what comes before that
[[nodiscard]] std::string encode_cdi_spec(std::string_view name, const ContainerEdits& edits,
                                          const CdiEdits& vendor);

/// The folder from which the container runtime reads CDI specs; of its files only those that begin
/// with kFilePrefix are ours. Threads: safe.
///
/// containerd does not read the folder when it creates a container. It watches the folder by
/// inotify for files that are removed, renamed away or written: a spec must be written under
/// another name in the same folder and then renamed, because a file from another folder is not
/// noticed.
class CdiFolder {
 public:
  static constexpr std::string_view kFilePrefix = "tangram.dev-slot-";

  /// Removes incomplete files of an agent that was killed.
  explicit CdiFolder(std::string path);

  /// Writes a spec unless the file is the same already. Creates the folder if necessary.
  /// @returns whether it was written; kUnavailable if it cannot be
  [[nodiscard]] Result<bool> put(std::string_view name, const std::string& spec) const;
  /// Writes a spec if there is no file of its name: another thread may have put a newer one.
  /// @returns as put()
  [[nodiscard]] Result<bool> restore(std::string_view name, const std::string& spec) const;
  /// The text of a spec.
  /// @returns kNotFound if there is none
  [[nodiscard]] Result<std::string> read(std::string_view name) const;
  /// @returns whether there was one
  bool remove(std::string_view name) const;
  /// The names of our specs.
  [[nodiscard]] std::set<std::string> names() const;

 private:
  [[nodiscard]] Result<bool> write(const std::string& path, const std::string& spec) const;
  [[nodiscard]] std::string file(std::string_view name) const;
  std::string path_;
  mutable std::mutex writing_;  ///< two writers of one name would share a file to write to
};

}  // namespace tangram::node
