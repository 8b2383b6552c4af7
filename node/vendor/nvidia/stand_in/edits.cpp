#include "node/vendor/nvidia/stand_in/edits.hpp"

#include "base/json.hpp"
#include "base/json_members.hpp"
#include "shim/pages.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tangram::node::nvidia {
namespace {

/// A mount of a CDI spec.
struct Mount {
  std::string host_path;
  std::string container_path;
  std::string type;
  std::vector<std::string> options;
};

Result<Mount> decode_mount(std::string text) {
  Mount mount;
  json::Reader in(text);
  json::read_members(in, "hostPath", mount.host_path, "containerPath", mount.container_path, "type",
                     mount.type, "options", mount.options);
  if (auto done = in.finish(); !done) return done.error();
  return mount;
}

std::string encode(const Mount& mount) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hostPath", mount.host_path);
  out.member("containerPath", mount.container_path);
  if (!mount.type.empty()) out.member("type", mount.type);
  out.key("options").begin_array();
  for (const std::string& option : mount.options) out.string(option);
  out.end_array().end_object();
  return text;
}

/// Is it this library, under whatever version? "libcuda.so.550.54.15" is "libcuda.so".
bool is_library(const Mount& mount, std::string_view library) {
  const std::string_view path = mount.container_path;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with(library) &&
         (file.size() == library.size() || file[library.size()] == '.');
}

/// By the folders of Debian and of Fedora, where /usr/lib is that beside /usr/lib64.
bool is_for_32_bits(const Mount& mount) {
  const std::string& path = mount.container_path;
  return path.find("/i386-") != std::string::npos || path.find("/lib32/") != std::string::npos ||
         path.rfind("/usr/lib/lib", 0) == 0;
}

bool prefers_the_images_driver(const std::string& hook) {
  return hook.find("\"enable-cuda-compat\"") != std::string::npos;
}

/// A driver library, what stands in for it, and where that looks for it.
struct Library {
  std::string_view name;
  const std::string& stand_in;
  std::string_view driver_path;
  std::string mounted = {};  ///< the driver's file; empty = none yet
};

Error not_one(std::string_view library, const std::string& found) {
  return fail(Errc::kUnavailable, "the driver's " + std::string(library) + " is " + found +
                                      " instead of one file; if NVIDIA's CDI spec says so, "
                                      "generate it again with `nvidia-ctk cdi generate`");
}

/// Puts the stand-in into a mount of the library, and adds one of the driver's before the first.
Result<void> stand_in(Library& library, Mount& mount, std::vector<std::string>& mounts) {
  if (!library.mounted.empty() && library.mounted != mount.host_path) {
    return not_one(library.name, library.mounted + " and " + mount.host_path);
  }
  if (library.mounted.empty()) {
    Mount driver = mount;
    driver.container_path = library.driver_path;
    mounts.push_back(encode(driver));
    library.mounted = mount.host_path;
  }
  mount.host_path = library.stand_in;
  return {};
}

}  // namespace

StandInPaths stand_ins_in(const std::string& host_folder) {
  return {.cuda = host_folder + "/libcuda.so.1", .nvml = host_folder + "/libnvidia-ml.so.1"};
}

std::vector<std::string> stand_in_files(const std::string& image_folder) {
  const StandInPaths paths = stand_ins_in(image_folder);
  return {paths.cuda, paths.nvml};
}

Result<CdiEdits> with_stand_ins(const CdiEdits& vendor, const StandInPaths& stand_ins) {
  std::vector<Library> libraries{
      {.name = "libcuda.so", .stand_in = stand_ins.cuda, .driver_path = shim::kCudaPath},
      {.name = "libnvidia-ml.so", .stand_in = stand_ins.nvml, .driver_path = shim::kNvmlPath}};
  CdiEdits edits = vendor;
  std::erase_if(edits.lists["hooks"], prefers_the_images_driver);
  std::vector<std::string>& mounts = edits.lists["mounts"];
  for (const std::string& text : std::exchange(mounts, {})) {
    auto mount = decode_mount(text);
    if (!mount)
      return fail(Errc::kUnavailable, "a mount of the driver's files: " + mount.error().message);
    const auto library = std::find_if(libraries.begin(), libraries.end(), [&](const Library& one) {
      return is_library(*mount, one.name);
    });
    if (library != libraries.end()) {
      if (is_for_32_bits(*mount)) continue;
      if (auto stands_in = stand_in(*library, *mount, mounts); !stands_in) return stands_in.error();
    }
    mounts.push_back(encode(*mount));
  }
  for (const Library& library : libraries) {
    if (library.mounted.empty()) return not_one(library.name, "nothing");
  }
  return edits;
}

Result<std::string> host_path_of(const CdiEdits& vendor, std::string_view library) {
  const auto mounts = vendor.lists.find("mounts");
  if (mounts != vendor.lists.end()) {
    for (const std::string& text : mounts->second) {
      auto mount = decode_mount(text);
      if (mount && is_library(*mount, library) && !is_for_32_bits(*mount)) return mount->host_path;
    }
  }
  return fail(Errc::kUnavailable,
              "neither NVIDIA's CDI spec nor the driver's files have " + std::string(library));
}

}  // namespace tangram::node::nvidia
