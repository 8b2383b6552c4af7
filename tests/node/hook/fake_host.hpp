#pragma once

#include "base/file.hpp"
#include "node/hook/cgroup.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tangram::node::hook {

/// A folder that looks like the host's proc and cgroup v2, with a container that was just created:
/// one process in a cgroup of its own, with the dmem controller.
class FakeHost {
 public:
  static constexpr const char* kId =
      "3fc4b1e8a2d94c6f8b7a5d3e1f0c9b8a7d6e5f4c3b2a19087f6e5d4c3b2a1908";
  static constexpr std::int64_t kPid = 4711;
  static constexpr const char* kRegion = "drm/0000:03:00.0/vram0";
  static constexpr const char* kOtherRegion = "drm/0000:83:00.0/vram0";

  FakeHost() {
    write(cgroup_root() + "/cgroup.controllers", "cpu memory pids dmem\n");
    write(cgroup_root() + "/dmem.capacity", std::string(kRegion) + " 34342961152\n" + kOtherRegion +
                                                " 34342961152\ndrm/0000:03:00.0/stolen 67108864\n");
    put_process(path());
    write(leaf() + "/cgroup.procs", std::to_string(kPid) + "\n");
    write(leaf() + "/dmem.max", "");
  }

  /// As kubelet and containerd name it with systemd.
  [[nodiscard]] static std::string path() {
    return std::string("/kubepods.slice/kubepods-pod0f1e.slice/cri-containerd-") + kId + ".scope";
  }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  [[nodiscard]] std::string cgroup_root() const { return folder() + "/cgroup"; }
  [[nodiscard]] std::string proc() const { return folder() + "/proc"; }
  [[nodiscard]] std::string leaf() const { return cgroup_root() + path(); }
  [[nodiscard]] KernelFolders folders() const { return {.cgroup = cgroup_root(), .proc = proc()}; }
  [[nodiscard]] static ContainerState container() { return {.id = kId, .pid = kPid}; }

  /// What /proc says of the container's process.
  void put_process_text(const std::string& text) const {
    write(proc() + "/" + std::to_string(kPid) + "/cgroup", text);
  }
  void put_process(const std::string& path) const { put_process_text("0::" + path + "\n"); }

  static void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    ASSERT_TRUE(replace_file(file, text));
  }
  /// The text of a file; "" if there is none.
  [[nodiscard]] static std::string text_of(const std::string& file) {
    const auto text = read_file(file);
    return text ? *text : "";
  }

 private:
  testing::TempFolder folder_;
};

}  // namespace tangram::node::hook
