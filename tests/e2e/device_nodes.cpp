#include "tests/e2e/device_nodes.hpp"

#include "base/file.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <utility>

namespace tangram::e2e {

namespace fs = std::filesystem;

DeviceNode::DeviceNode(std::string path, unsigned major, unsigned minor) : path_(std::move(path)) {
  std::error_code no_node_either;
  fs::create_directories(fs::path(path_).parent_path(), no_node_either);
  made_ = ::mknod(path_.c_str(), S_IFCHR | 0666, ::makedev(major, minor)) == 0;
}

DeviceNode::~DeviceNode() {
  std::error_code ignored;
  if (made_) fs::remove(path_, ignored);
}

bool DeviceNode::is_there() const { return fs::is_character_file(path_); }

int holding_process_of(const std::string& pod_uid) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    const auto group = read_file((process.path() / "cgroup").string());
    const auto command = read_file((process.path() / "cmdline").string());
    if (group && command && group->find(pod_uid) != std::string::npos &&
        command->find("hold") != std::string::npos) {
      return std::stoi(process.path().filename());
    }
  }
  return 0;
}

std::set<std::string> nvidia_nodes_of(int process) {
  std::set<std::string> names;
  const fs::path folder = "/proc/" + std::to_string(process) + "/root/dev";
  for (const auto& node : fs::recursive_directory_iterator(folder)) {
    const std::string name = node.path().lexically_relative(folder);
    if (name.starts_with("nvidia") && node.is_character_file()) names.insert(name);
  }
  return names;
}

}  // namespace tangram::e2e
