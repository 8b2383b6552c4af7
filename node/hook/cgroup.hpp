#pragma once

#include "base/result.hpp"
#include "node/hook/container_state.hpp"

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

/// The folder of a container's own cgroup. The driver accounts there only if it is a leaf, and
/// shows the limit as the size of the card only there.
/// @returns kNotFound     the process or the folder is not there
///          kUnavailable  the node has cgroup v1, alone or beside v2
///          kConflict     the cgroup is not the container's, or not a leaf
[[nodiscard]] Result<std::string> leaf_of(const ContainerState& container,
                                          const KernelFolders& folders);

}  // namespace tangram::node::hook
