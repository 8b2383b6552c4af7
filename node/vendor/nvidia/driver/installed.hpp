#pragma once

#include "base/result.hpp"
#include "node/vendor/nvidia/driver/root.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::node::nvidia {

/// Where the driver's files may be on a host, each as the root of a tree: a driver container of the
/// GPU Operator; what Google's installers make on COS and on Ubuntu; a driver that was unpacked;
/// Talos; NixOS; and packages of the host, which may be left over beside any of these.
[[nodiscard]] std::vector<std::string> usual_driver_roots();

/// The files of NVIDIA's driver on a host. All paths are the host's, without symbolic links.
struct InstalledDriver {
  std::string root;     ///< of the given places: "/run/nvidia/driver"
  std::string version;  ///< "580.159.04", of the kernel's modules and of these files
  /// By the name under which programs load it ("libcuda.so.1", "libcuda.so.580.159.04"): those for
  /// compute, management and video, without graphics.
  std::map<std::string, std::string, std::less<>> libraries;
  /// By name: nvidia-smi, nvidia-cuda-mps-control, …; those that are there.
  std::map<std::string, std::string, std::less<>> programs;
};

/// The driver whose modules the kernel runs.
/// @param host    the host's file system
/// @param places  in this order; a driver of another version than the kernel's does not count
/// @returns kNotFound with the reason: no module is loaded, or no place has all of its files
[[nodiscard]] Result<InstalledDriver> find_driver(const Root& host,
                                                  const std::vector<std::string>& places);

/// The minor number of a card's device node, from the driver's /proc/driver/nvidia.
/// @returns kNotFound if the driver shows no such card; a MIG instance has none
[[nodiscard]] Result<int> device_minor(const Root& host, std::string_view card);

/// What follows a key on its line, in a file of the driver's: of "Device Minor:" and
/// "Device Minor: \t 0\n…" it is "0". @returns "" if the key is not there
[[nodiscard]] std::string value_of(std::string_view text, std::string_view key);

}  // namespace tangram::node::nvidia
