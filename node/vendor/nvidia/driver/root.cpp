#include "node/vendor/nvidia/driver/root.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <system_error>

namespace tangram::node::nvidia {

namespace fs = std::filesystem;

namespace {

using Steps = std::deque<std::string>;

/// Puts the parts of a path before those that are still to be walked.
void walk_first(const fs::path& path, Steps& steps) {
  auto at = steps.begin();
  for (const fs::path& part : path.relative_path()) {
    if (!part.empty() && part != ".") at = std::next(steps.insert(at, part));
  }
}

}  // namespace

/// openat2() with RESOLVE_IN_ROOT does this in the kernel, but only since Linux 5.6.
std::optional<std::string> Root::resolve(std::string_view path) const {
  constexpr int kMostLinks = 40;  // as the kernel
  Steps steps;
  walk_first(fs::path(path), steps);
  fs::path walked = "/";
  std::error_code error;
  for (int links = 0; !steps.empty();) {
    const std::string step = steps.front();
    steps.pop_front();
    if (step == "..") {
      walked = walked.parent_path();
      continue;
    }
    const std::string next = (walked / step).string();
    const auto kind = fs::symlink_status(open_path(next), error).type();
    if (kind == fs::file_type::not_found || kind == fs::file_type::none) return std::nullopt;
    if (kind != fs::file_type::symlink) {
      walked = next;
      continue;
    }
    const fs::path target = fs::read_symlink(open_path(next), error);
    if (error || ++links > kMostLinks) return std::nullopt;
    if (target.is_absolute()) walked = "/";
    walk_first(target, steps);
  }
  return walked.string();
}

std::vector<std::string> Root::names_in(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  const auto resolved = resolve(folder);
  if (!resolved) return names;
  for (fs::directory_iterator at(open_path(*resolved), error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tangram::node::nvidia
