#include "node/vendor/nvidia/driver/device_nodes.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <system_error>

namespace tangram::node::nvidia {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kControlMinor = 255;  // as nvidia-modprobe has it
constexpr mode_t kMode = 0666;  // as the driver's own: /proc/driver/nvidia/params, DeviceFileMode

struct DeviceNode {
  std::string path;
  const char* driver;  ///< its name in /proc/devices
  unsigned minor;
  mode_t mode = kMode;
  std::string made_by = "nvidia-modprobe -u -c 0";
  bool is_administrators = false;  ///< so the driver's settings say: programs shall not make it
};

/// The major numbers of the drivers of character devices, from /proc/devices; a module that is not
/// loaded has none. The cards' driver has another name in older releases.
using Majors = std::map<std::string, unsigned, std::less<>>;

Majors majors_of(const Root& host) {
  Majors majors;
  const auto text = read_file(host.open_path("/proc/devices"));
  if (!text) return majors;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line) && !line.starts_with("Block");) {
    std::istringstream words(line);
    std::string number;
    std::string name;
    words >> number >> name;
    if (const auto major = parse_number<unsigned>(number)) {
      majors.emplace(name == "nvidia-frontend" ? "nvidia" : name, *major);
    }
  }
  return majors;
}

Error missing(const DeviceNode& node, const std::string& why, const std::string& what_to_do) {
  return fail(Errc::kUnavailable,
              "the node has no " + node.path + ", and " + why + "; " + what_to_do);
}

/// A module that was loaded anew may have another major number than the node.
bool is_of_another(dev_t device, const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISCHR(about.st_mode) && about.st_rdev != device;
}

/// The folder of a node, as this program opens it. Made if it is missing in /dev.
std::optional<std::string> folder_of(const Root& host, const fs::path& folder) {
  if (const auto found = host.resolve(folder.string())) return host.open_path(*found);
  const auto parent = host.resolve(folder.parent_path().string());
  if (!parent) return std::nullopt;
  const std::string path = host.open_path((fs::path(*parent) / folder.filename()).string());
  constexpr mode_t kFolderMode = 0755;  // as nvidia-modprobe makes it, whatever the umask
  if (::mkdir(path.c_str(), kFolderMode) == 0) ::chmod(path.c_str(), kFolderMode);
  return path;
}

/// In one step, over what is there: a container that starts meanwhile sees no other device.
bool replace_node(const std::string& path, const DeviceNode& node, dev_t device) {
  const std::string part = path + ".tangram-" + std::to_string(::gettid());
  ::unlink(part.c_str());
  // The mode is set apart: mknod() heeds the umask.
  if (::mknod(part.c_str(), S_IFCHR | node.mode, device) == 0 &&
      ::chmod(part.c_str(), node.mode) == 0 && ::rename(part.c_str(), path.c_str()) == 0) {
    return true;
  }
  const int reason = errno;
  ::unlink(part.c_str());
  errno = reason;
  return false;
}

Result<void> make(const Root& host, const Majors& majors, const DeviceNode& node) {
  const auto there = host.resolve(node.path);
  if (node.is_administrators) {
    if (there) return {};
    return missing(node, "the driver leaves it to the administrator (DeviceFileModify is 0)",
                   "make it on the node");
  }
  const auto major = majors.find(node.driver);
  if (major == majors.end()) {
    if (there) return {};
    return missing(node, std::string("its kernel has no ") + node.driver,
                   "`" + node.made_by + "` loads it");
  }
  const dev_t device = ::makedev(major->second, node.minor);
  if (there && !is_of_another(device, host.open_path(*there))) return {};
  const fs::path path = there.value_or(node.path);
  const auto folder = folder_of(host, path.parent_path());
  if (folder && replace_node(*folder + "/" + path.filename().string(), node, device)) return {};
  return missing(node, "it cannot be made: " + std::generic_category().message(errno),
                 "run `" + node.made_by + "` on the node");
}

/// The node of a capability, from the file that describes it.
Result<DeviceNode> capability(const Root& host, const std::string& file) {
  const auto text = read_file(host.open_path(file));
  const auto number = [&](std::string_view key) {
    const std::string value = text ? value_of(*text, key) : "";
    return parse_number<unsigned>(value.substr(0, value.find(' ')));  // "256 (0400)"
  };
  const auto minor = number("DeviceFileMinor:");
  const auto mode = number("DeviceFileMode:");
  if (!minor || !mode) {
    return fail(Errc::kUnavailable, "the driver shows no such MIG instance in " + file +
                                        "; if the MIG layout was changed, delete the pod");
  }
  return DeviceNode{.path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor),
                    .driver = "nvidia-caps",
                    .minor = *minor,
                    .mode = *mode & kMode,
                    .made_by = "nvidia-modprobe -f " + file,
                    .is_administrators = number("DeviceFileModify:") == 0U};
}

Result<void> add_nodes(const Root& host, const CardPlace& card, std::vector<DeviceNode>& to) {
  const auto found = device_minor(host, card.physical);
  if (!found) return found.error();
  const std::string minor = std::to_string(*found);
  to.push_back({"/dev/nvidia" + minor, "nvidia", static_cast<unsigned>(*found)});
  if (!card.instance) return {};
  const std::string gpu_instance = "/proc/driver/nvidia/capabilities/gpu" + minor + "/mig/gi" +
                                   std::to_string(card.instance->gpu);
  const std::string compute_instance =
      gpu_instance + "/ci" + std::to_string(card.instance->compute);
  for (const std::string& folder : {gpu_instance, compute_instance}) {
    auto node = capability(host, folder + "/access");
    if (!node) return node.error();
    to.push_back(std::move(*node));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> device_nodes(const Root& host,
                                              const std::vector<CardPlace>& cards) {
  std::vector<DeviceNode> needed{{"/dev/nvidiactl", "nvidia", kControlMinor},
                                 {"/dev/nvidia-uvm", "nvidia-uvm", 0}};
  for (const CardPlace& card : cards) {
    if (auto known = add_nodes(host, card, needed); !known) return known.error();
  }
  const Majors majors = majors_of(host);
  std::vector<std::string> paths;
  for (const DeviceNode& node : needed) {
    // Instances of one card share its node.
    if (std::find(paths.begin(), paths.end(), node.path) != paths.end()) continue;
    if (auto there = make(host, majors, node); !there) return there.error();
    paths.push_back(node.path);
  }
  // Programs do without these.
  if (make(host, majors, {"/dev/nvidia-uvm-tools", "nvidia-uvm", 1})) {
    paths.emplace_back("/dev/nvidia-uvm-tools");
  }
  if (host.resolve("/dev/nvidia-modeset")) paths.emplace_back("/dev/nvidia-modeset");
  return paths;
}

}  // namespace tangram::node::nvidia
