#include "node/hook/cgroup.hpp"

#include "base/file.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "node/hook/memory_limiter.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace tangram::node::hook {
namespace {

namespace fs = std::filesystem;

static_assert(kCgroup2 == CGROUP2_SUPER_MAGIC);

constexpr std::string_view kUnified = "0::";
constexpr std::string_view kScope = ".scope";

Error needs_v2(const std::string& found) {
  return fail(Errc::kUnavailable, found +
                                      ": limits of card memory need cgroup v2 alone; start the "
                                      "node with systemd.unified_cgroup_hierarchy=1, " +
                                      kLimitOtherwise);
}

/// Of each name between the slashes.
template <class Predicate>
bool any_name(std::string_view path, const Predicate& predicate) {
  const auto names = split(path.substr(1), '/');
  return std::any_of(names.begin(), names.end(), predicate);
}

Result<std::string> path_of(const ContainerState& container, const std::string& proc) {
  const std::string pid = std::to_string(container.pid);
  const auto text = read_file(proc + "/" + pid + "/cgroup");
  if (!text) {
    return fail(Errc::kNotFound, "process " + pid + " of container " + container.id +
                                     " is gone: " + text.error().message);
  }
  auto path = cgroup_path(*text);
  if (!path) return fail(path.error().code, "process " + pid + ": " + path.error().message);
  if (!is_of_container(*path, container.id)) {
    return fail(Errc::kConflict, "process " + pid + " is in the cgroup " + quote_if_needed(*path) +
                                     ", which is not named after container " + container.id +
                                     "; the runtime must create a cgroup for each container");
  }
  return path;
}

/// The first folder in a folder; nothing if there is none.
Result<std::optional<std::string>> first_child(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) return {entry->path().filename().string()};
  }
  if (!failed) return {std::nullopt};
  return fail(Errc::kNotFound, "the cgroup " + folder + " cannot be read (" + failed.message() +
                                   "); --cgroup-root must be where the host mounts cgroup v2");
}

/// @param advice  what to do if it has a child
Result<void> check_leaf(const std::string& folder, const std::string& advice) {
  const auto child = first_child(folder);
  if (!child) return child.error();
  if (!*child) return {};
  return fail(Errc::kConflict, "the cgroup " + folder + " is no leaf: it has the child " +
                                   quote_if_needed(**child) +
                                   ", and the driver shows a limit in leaves only; " + advice);
}

/// Nothing if there is no such folder.
Result<std::optional<std::uint64_t>> inode_of(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0) return {std::uint64_t{status.st_ino}};
  if (errno == ENOENT || errno == ENOTDIR) return {std::nullopt};
  return fail(Errc::kUnavailable,
              "the cgroup " + folder + ": " + std::generic_category().message(errno));
}

/// The kernel's number of it; 0 if there is no such folder.
std::uint64_t filesystem_of(const std::string& folder) {
  struct statfs status {};
  return ::statfs(folder.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.f_type) : 0;
}

Result<void> check_process(const std::string& folder, std::int64_t pid) {
  const auto processes = read_file(folder + "/cgroup.procs");
  if (!processes) return fail(Errc::kNotFound, processes.error().message);
  const auto pids = split(*processes, '\n');
  if (std::find(pids.begin(), pids.end(), std::to_string(pid)) != pids.end()) return {};
  return fail(Errc::kConflict,
              "the cgroup " + folder + " does not list process " + std::to_string(pid) +
                  "; --cgroup-root must be where the host mounts cgroup v2, and --proc its /proc");
}

}  // namespace

Result<std::string> cgroup_path(std::string_view proc_text) {
  const auto lines = split(proc_text, '\n');
  const auto unified = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with(kUnified);
  });
  if (unified == lines.end()) return needs_v2("only cgroup v1 is mounted");
  std::string path = unified->substr(kUnified.size());
  if (path == "/") {
    return fail(Errc::kConflict,
                "it is in the root cgroup, where a limit would hold for the whole node; the "
                "runtime must create a cgroup for each container");
  }
  if (path == "/.." || path.starts_with("/../")) {
    return fail(Errc::kConflict,
                "its cgroup is outside the cgroup namespace of this program; the runtime must "
                "start hooks in its own namespaces, and run in those of the host");
  }
  const auto is_odd = [](const std::string& name) {
    return name.empty() || name == "." || name == "..";
  };
  if (!path.starts_with('/') || any_name(path, is_odd)) {
    return fail(Errc::kConflict, "its cgroup has the path " + quote(path) +
                                     ", which the kernel never writes; check --proc");
  }
  return path;
}

bool is_of_container(std::string_view path, std::string_view id) {
  if (!path.starts_with('/') || id.empty()) return false;
  return any_name(path, [id](std::string_view name) {
    if (name.ends_with(kScope)) name.remove_suffix(kScope.size());
    if (!name.ends_with(id)) return false;
    name.remove_suffix(id.size());
    return name.empty() || name.ends_with('-');
  });
}

Result<Leaf> leaf_of(const ContainerState& container, const KernelFolders& folders) {
  std::error_code ignored;
  if (!fs::exists(folders.cgroup + "/cgroup.controllers", ignored)) {
    return needs_v2(folders.cgroup + " is not the root of cgroup v2");
  }
  auto path = path_of(container, folders.proc);
  if (!path) return path.error();
  const std::string folder = folders.cgroup + *path;
  if (auto checked =
          check_leaf(folder, "the runtime must put the container's first process into the child");
      !checked) {
    return checked.error();
  }
  if (auto checked = check_process(folder, container.pid); !checked) return checked.error();
  const auto inode = inode_of(folder);
  const auto root = inode_of(folders.cgroup);
  if (!inode || !*inode) return fail(Errc::kNotFound, "the cgroup " + folder + " was removed");
  if (!root || !*root) return fail(Errc::kNotFound, folders.cgroup + " cannot be read");
  return Leaf{.container = container.id,
              .path = std::move(*path),
              .inode = **inode,
              .root = **root,
              .filesystem = filesystem_of(folders.cgroup)};
}

Result<std::optional<std::string>> folder_of(const Leaf& leaf, const std::string& root) {
  const auto here = inode_of(root);
  if (!here || !*here || **here != leaf.root || filesystem_of(root) != leaf.filesystem) {
    return fail(Errc::kUnavailable, root +
                                        " is not where the host mounts cgroup v2, so the limits of "
                                        "running containers cannot be changed; the agent must run "
                                        "privileged, in the host's cgroup namespace");
  }
  std::string folder = root + leaf.path;
  const auto inode = inode_of(folder);
  if (!inode) return inode.error();
  if (!*inode || **inode != leaf.inode) return {std::nullopt};
  const auto checked = check_leaf(folder, "remove the cgroups that the container has made");
  if (checked) return {std::move(folder)};
  // It may be removed just now.
  const bool is_unread = checked.error().code == Errc::kNotFound;
  return is_unread ? fail(Errc::kUnavailable, checked.error().message) : checked.error();
}

}  // namespace tangram::node::hook
