#include "node/vendor/nvidia/driver/device_nodes.hpp"

#include "base/file.hpp"
#include "base/number.hpp"
#include "node/vendor/nvidia/driver/installed.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <optional>
#include <sstream>
#include <system_error>

namespace tangram::node::nvidia {

namespace {

struct DeviceNode {
  std::string path;
  const char* driver;  ///< its name in /proc/devices
  unsigned minor;
};

constexpr unsigned kControlMinor = 255;  // as nvidia-modprobe has it
constexpr mode_t kMode = 0666;  // as the driver's own: /proc/driver/nvidia/params, DeviceFileMode

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
  // Another thread may make it, too. The mode is set apart: mknod() heeds the umask.
  const bool made = ::mknod(path.c_str(), S_IFCHR | kMode, ::makedev(*major, node.minor)) == 0;
  if ((made && ::chmod(path.c_str(), kMode) == 0) || errno == EEXIST) return {};
  return fail(Errc::kUnavailable, "the node has no " + node.path + ", and it cannot be made: " +
                                      std::generic_category().message(errno) +
                                      "; run `nvidia-modprobe -u -c 0` on the node");
}

}  // namespace

Result<std::vector<std::string>> device_nodes(const Root& host,
                                              const std::vector<std::string>& cards) {
  std::vector<DeviceNode> needed{{"/dev/nvidiactl", "nvidia", kControlMinor},
                                 {"/dev/nvidia-uvm", "nvidia-uvm", 0}};
  for (const std::string& card : cards) {
    const auto minor = device_minor(host, card);
    if (!minor) return minor.error();
    needed.push_back(
        {"/dev/nvidia" + std::to_string(*minor), "nvidia", static_cast<unsigned>(*minor)});
  }
  std::vector<std::string> paths;
  for (const DeviceNode& node : needed) {
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
