#include "node/container/processes.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

constexpr const char* kUid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

TEST(PodOfProcessTest, EveryWayKubeletNamesGroups) {
  const std::string underscored = "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0";
  for (const std::string& text : {
           "12:cpu:/kubepods/burstable/pod" + std::string(kUid) + "/4711\n",
           "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + underscored +
               ".slice/cri-containerd-4711.scope\n",
           "0::/kubepods/pod" + std::string(kUid) + "/4711",
       }) {
    EXPECT_EQ(pod_uid_in_cgroup(text), kUid) << text;
  }
  EXPECT_EQ(pod_uid_in_cgroup("0::/kubepods/pod0123456789abcdef0123456789abcdef/x"),
            "0123456789abcdef0123456789abcdef");
}

TEST(PodOfProcessTest, OthersAreInNoPod) {
  for (const char* text :
       {"", "0::/system.slice/sshd.service", "0::/kubepods/burstable", "0::/podman/pod",
        "0::/kubepods/pod0f1e/x", "0::/tripod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/x"}) {
    EXPECT_EQ(pod_uid_in_cgroup(text), "") << text;
  }
}

TEST(ProcProcessesTest, ReadsTheProcessesOfAFolder) {
  const testing::TempFolder folder;
  const auto process = [&](const std::string& pid, const std::string& cgroup) {
    std::filesystem::create_directories(folder.path() + "/" + pid);
    ASSERT_TRUE(replace_file(folder.path() + "/" + pid + "/cgroup", cgroup));
  };
  process("7", std::string("0::/kubepods/pod") + kUid + "/a");
  process("8", "0::/init.scope");
  process("self", std::string("0::/kubepods/pod") + kUid + "/a");
  const ProcProcesses processes(folder.path());
  EXPECT_EQ(processes.pod_of(7), kUid);
  EXPECT_EQ(processes.pod_of(8), "");
  EXPECT_EQ(processes.pod_of(9), "");
  EXPECT_EQ(processes.pods(), (std::map<std::string, std::int64_t>{{kUid, 7}}));
}

}  // namespace
}  // namespace tangram::node
