#pragma once

#include <set>
#include <string>

namespace tangram::e2e {

/// A device node of the machine's, unless it is there already: character device MAJOR, MINOR. Its
/// folder, if it is made, stays.
class DeviceNode {
 public:
  DeviceNode(std::string path, unsigned major, unsigned minor);
  ~DeviceNode();
  DeviceNode(const DeviceNode&) = delete;
  DeviceNode& operator=(const DeviceNode&) = delete;
  [[nodiscard]] bool is_there() const;

 private:
  const std::string path_;
  bool made_ = false;
};

/// The first process of a pod's container whose program holds, by its control group; 0 = none.
[[nodiscard]] int holding_process_of(const std::string& pod_uid);

/// NVIDIA's device nodes that a process has in its /dev: "nvidia0", "nvidia-caps/nvidia-cap1".
[[nodiscard]] std::set<std::string> nvidia_nodes_of(int process);

}  // namespace tangram::e2e
