#include "node/vendor/nvidia/driver/edits.hpp"

#include "base/json.hpp"

namespace tangram::node::nvidia {

namespace {

#if defined(__aarch64__)
constexpr const char* kDebianFolder = "/usr/lib/aarch64-linux-gnu/";
#else
constexpr const char* kDebianFolder = "/usr/lib/x86_64-linux-gnu/";
#endif
constexpr const char* kFedoraFolder = "/usr/lib64/";

constexpr const char* kSpecVersion = "0.5.0";  // the oldest that has all of this

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

}  // namespace

Result<CdiEdits> edits_from_driver(const InstalledDriver& driver, const Root& host,
                                   const std::vector<CardPlace>& cards) {
  const auto nodes = device_nodes(host, cards);
  if (!nodes) return nodes.error();
  CdiEdits edits;
  edits.cdi_version = kSpecVersion;
  for (const std::string& path : *nodes) edits.lists["deviceNodes"].push_back(encode_node(path));
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
