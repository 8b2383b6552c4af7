#include "node/vendor/nvidia/driver/edits.hpp"

#include "base/json.hpp"

#include <array>

namespace tangram::node::nvidia {

namespace {

#if defined(__aarch64__)
constexpr const char* kDebianFolder = "/usr/lib/aarch64-linux-gnu/";
#else
constexpr const char* kDebianFolder = "/usr/lib/x86_64-linux-gnu/";
#endif
constexpr const char* kFedoraFolder = "/usr/lib64/";

constexpr const char* kSpecVersion = "0.5.0";  // the oldest that has all of this
constexpr std::array kNeededNodes{"/dev/nvidiactl", "/dev/nvidia-uvm"};
constexpr std::array kOtherNodes{"/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

std::string encode_node(const std::string& path) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("path", path).end_object();
  return text;
}

/// As NVIDIA's specs mount: no file of the driver's is set-user-ID or a device.
std::string encode_mount(const std::string& host_path, const std::string& container_path) {
  std::string text;
  json::Writer out(text);
  out.begin_object().member("hostPath", host_path).member("containerPath", container_path);
  out.key("options").begin_array();
  for (const char* const option : {"ro", "nosuid", "nodev", "rbind", "rprivate"}) {
    out.string(option);
  }
  out.end_array().end_object();
  return text;
}

Result<std::vector<std::string>> device_nodes(const Root& host, const std::string& proc,
                                              const std::vector<std::string>& cards) {
  std::vector<std::string> needed(kNeededNodes.begin(), kNeededNodes.end());
  for (const std::string& card : cards) {
    const auto minor = device_minor(proc, card);
    if (!minor) return minor.error();
    needed.push_back("/dev/nvidia" + std::to_string(*minor));
  }
  std::vector<std::string> nodes;
  for (const std::string& path : needed) {
    if (!host.resolve(path)) {
      return fail(Errc::kUnavailable, "the node has no " + path +
                                          "; `nvidia-modprobe -u -c 0` or `nvidia-smi` makes it");
    }
    nodes.push_back(encode_node(path));
  }
  for (const char* const path : kOtherNodes) {
    if (host.resolve(path)) nodes.push_back(encode_node(path));
  }
  return nodes;
}

}  // namespace

Result<CdiEdits> edits_from_driver(const InstalledDriver& driver, const Root& host,
                                   const std::string& proc, const std::vector<std::string>& cards) {
  auto nodes = device_nodes(host, proc, cards);
  if (!nodes) return nodes.error();
  CdiEdits edits;
  edits.cdi_version = kSpecVersion;
  edits.lists["deviceNodes"] = std::move(*nodes);
  std::vector<std::string>& mounts = edits.lists["mounts"];
  for (const auto& [name, path] : driver.libraries) {
    for (const char* const folder : {kDebianFolder, kFedoraFolder}) {
      mounts.push_back(encode_mount(path, folder + name));
    }
  }
  if (const auto smi = driver.programs.find("nvidia-smi"); smi != driver.programs.end()) {
    mounts.push_back(encode_mount(smi->second, "/usr/bin/nvidia-smi"));
  }
  return edits;
}

}  // namespace tangram::node::nvidia
