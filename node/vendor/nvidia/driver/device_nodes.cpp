#include "node/vendor/nvidia/driver/device_nodes.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace tangram::node::nvidia {

namespace {

constexpr unsigned kControlMinor = 255;  // as nvidia-modprobe has it
constexpr mode_t kMode = 0666;  // as the driver's own: /proc/driver/nvidia/params, DeviceFileMode

struct DeviceNode {
  std::string path;
  const char* driver;  ///< its name in /proc/devices
  unsigned minor;
  mode_t mode = kMode;
};

/// The major number of a driver of character devices, from /proc/devices; a module that is not
/// loaded has none. Of the cards' driver newer and older releases have different names.
std::optional<unsigned> major_of(const Root& host, std::string_view driver) {
  auto text = read_file(host.open_path("/proc/devices"));
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line) && !line.starts_with("Block");) {
    std::istringstream words(line);
    std::string number;
    std::string name;
    words >> number >> name;
    const bool is_it = name == driver || (driver == "nvidia" && name == "nvidia-frontend");
    if (is_it) return parse_number<unsigned>(number);
  }
  return std::nullopt;
}

Result<void> make(const Root& host, const DeviceNode& node) {
  if (host.resolve(node.path)) return {};
  const auto major = major_of(host, node.driver);
  if (!major) {
    return fail(Errc::kUnavailable, "the node has no " + node.path + ", and its kernel has no " +
                                        node.driver + "; `nvidia-modprobe -u -c 0` loads it");
  }
  const std::string path = host.open_path(node.path);
  std::error_code reported_below;
  std::filesystem::create_directory(std::filesystem::path(path).parent_path(), reported_below);
  // Another thread may make it, too. The mode is set apart: mknod() heeds the umask.
  const bool made = ::mknod(path.c_str(), S_IFCHR | node.mode, ::makedev(*major, node.minor)) == 0;
  if ((made && ::chmod(path.c_str(), node.mode) == 0) || errno == EEXIST) return {};
  return fail(Errc::kUnavailable, "the node has no " + node.path + ", and it cannot be made: " +
                                      std::generic_category().message(errno) +
                                      "; run `nvidia-modprobe -u -c 0` on the node");
}

/// The node of a capability, from the file that describes it.
Result<DeviceNode> capability(const Root& host, const std::string& file) {
  const auto text = read_file(host.open_path(file));
  const auto minor = parse_number<unsigned>(text ? value_of(*text, "DeviceFileMinor:") : "");
  const std::string mode_text = text ? value_of(*text, "DeviceFileMode:") : "";
  const auto mode = parse_number<unsigned>(mode_text.substr(0, mode_text.find(' ')));
  if (!minor || !mode) {
    return fail(Errc::kNotFound, "the driver shows no such MIG instance in " + file);
  }
  return DeviceNode{"/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor), "nvidia-caps", *minor,
                    *mode & kMode};
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
  std::vector<std::string> paths;
  for (const DeviceNode& node : needed) {
    // Instances of one card share its node.
    if (std::find(paths.begin(), paths.end(), node.path) != paths.end()) continue;
    if (auto there = make(host, node); !there) return there.error();
    paths.push_back(node.path);
  }
  // Programs do without these.
  if (make(host, {"/dev/nvidia-uvm-tools", "nvidia-uvm", 1})) {
    paths.emplace_back("/dev/nvidia-uvm-tools");
  }
  if (host.resolve("/dev/nvidia-modeset")) paths.emplace_back("/dev/nvidia-modeset");
  return paths;
}

}  // namespace tangram::node::nvidia
