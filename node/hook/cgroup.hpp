#pragma once

#include "base/result.hpp"
#include "node/hook/container_state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tangram::node::hook {

/// Where the kernel's file systems are mounted.
struct KernelFolders {
  std::string cgroup = "/sys/fs/cgroup";
  std::string proc = "/proc";
};

/// The path of a process's cgroup below the root of cgroup v2, from the text of /proc/PID/cgroup.
/// @returns kUnavailable  only cgroup v1 is there
///          kConflict     it is the root, whose limits hold for the whole node, or it lies outside
///                        this program's cgroup namespace, so that its place is unknown
[[nodiscard]] Result<std::string> cgroup_path(std::string_view proc_text);

/// Whether a runtime made that cgroup for that container: one of the names in the path is the id,
/// or ends with it behind a dash, as in cri-containerd-ID.scope.
[[nodiscard]] bool is_of_container(std::string_view path, std::string_view id);

/// The kernel's number of the file system cgroup v2.
inline constexpr std::uint64_t kCgroup2 = 0x63677270;

/// The cgroup that is a container's own.
struct Leaf {
  std::string container;    ///< the runtime's id
  std::string path;         ///< below the root of cgroup v2
  std::uint64_t inode = 0;  ///< of its folder: the kernel gives no other cgroup the same one
  std::uint64_t root = 0;   ///< the inode of the root's folder: 1, as of other file systems' roots
  std::uint64_t filesystem = kCgroup2;  ///< that of the root

  friend bool operator==(const Leaf&, const Leaf&) = default;
};

/// A container's own cgroup. The driver accounts there only if it is a leaf, and shows the limit as
/// the size of the card only there.
/// @returns kNotFound     the process or the folder is not there
///          kUnavailable  the node has cgroup v1, alone or beside v2
///          kConflict     the cgroup is not the container's, or not a leaf
[[nodiscard]] Result<Leaf> leaf_of(const ContainerState& container, const KernelFolders& folders);

/// The folder of a leaf that was found before.
/// @param root  where cgroup v2 is mounted for this program
/// @returns nothing if the cgroup was removed, so that no process can be in it any more;
///          kUnavailable  another file system is mounted there than the leaf was found in, so it is
///                        not known whether the cgroup was removed
///          kConflict     it is not a leaf any more
[[nodiscard]] Result<std::optional<std::string>> folder_of(const Leaf& leaf,
                                                           const std::string& root);

}  // namespace tangram::node::hook
