#include "node/container/processes.hpp"

#include "base/file.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

namespace tangram::node {
namespace {

constexpr const char* kUid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";
constexpr const char* kMirrorUid = "0123456789abcdef0123456789abcdef";
constexpr const char* kId = "9e2f3c1b7a605d4e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9012a3b4c5d6e7";

/// A /proc/PID/cgroup, with UID, U_ID (the UID where systemd makes the groups), HASH and ID in it.
struct Cgroup {
  const char* name;
  std::string text;
  std::string pod_uid = kUid;
  std::string container_id = kId;
};

std::string filled(std::string text) {
  const std::string underscored = "0f1e2d3c_4b5a_6978_8796_a5b4c3d2e1f0";
  for (const auto& [word, value] : {std::pair<std::string, std::string>{"U_ID", underscored},
                                    {"UID", kUid},
                                    {"HASH", kMirrorUid},
                                    {"ID", kId}}) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      text.replace(at, word.size(), value);
    }
  }
  return text;
}

class PlaceInCgroupTest : public ::testing::TestWithParam<Cgroup> {};

TEST_P(PlaceInCgroupTest, NamesPodAndContainer) {
  const std::string text = filled(GetParam().text);
  const ProcessPlace place = place_in_cgroup(text);
  EXPECT_EQ(place.pod_uid, GetParam().pod_uid) << text;
  EXPECT_EQ(place.container_id, GetParam().container_id) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Runtimes, PlaceInCgroupTest,
    ::testing::Values(
        Cgroup{.name = "ContainerdBySystemd",
               .text = "0::/kubepods.slice/kubepods-burstable.slice/"
                       "kubepods-burstable-podU_ID.slice/cri-containerd-ID.scope\n"},
        Cgroup{.name = "GuaranteedHasNoClass",
               .text = "0::/kubepods.slice/kubepods-podU_ID.slice/cri-containerd-ID.scope\n"},
        Cgroup{.name = "ContainerdByItself", .text = "0::/kubepods/besteffort/podUID/ID\n"},
        Cgroup{.name = "NoNewlineAtTheEnd", .text = "0::/kubepods/podUID/ID"},
        Cgroup{.name = "KubeletBySystemdAndContainerdByItself",
               .text = "0::/system.slice/containerd.service/"
                       "kubepods-burstable-podU_ID.slice:cri-containerd:ID\n"},
        Cgroup{.name = "CrioBySystemd",
               .text = "0::/kubepods.slice/kubepods-besteffort.slice/"
                       "kubepods-besteffort-podU_ID.slice/crio-ID.scope\n"},
        Cgroup{.name = "CrunHasAGroupBelow",
               .text = "0::/kubepods.slice/kubepods-podU_ID.slice/crio-ID.scope/container\n"},
        Cgroup{.name = "CrioByItself", .text = "0::/kubepods/burstable/podUID/crio-ID\n"},
        Cgroup{.name = "DockerBySystemd",
               .text = "0::/kubepods.slice/kubepods-podU_ID.slice/docker-ID.scope\n"},
        Cgroup{.name = "VersionOne",
               .text = "12:memory:/kubepods/burstable/podUID/ID\n"
                       "11:devices:/kubepods/burstable/podUID/ID\n"
                       "1:name=systemd:/kubepods/burstable/podUID/ID\n"},
        Cgroup{.name = "VersionOneWithoutTheFirstHierarchy",
               .text = "12:misc:/\n11:devices:/kubepods.slice/kubepods-podU_ID.slice/"
                       "cri-containerd-ID.scope\n0::/\n"},
        Cgroup{.name = "SeenFromAnotherPodsNamespace",
               .text = "0::/../../kubepods-podU_ID.slice/cri-containerd-ID.scope\n"},
        Cgroup{.name = "KubeletInAContainer",
               .text = "0::/docker/ID/kubelet/kubepods/burstable/podUID/ID\n"},
        Cgroup{.name = "GroupsOfItsOwn", .text = "0::/kubepods/podUID/ID/init.scope/podHASH/x\n"},
        Cgroup{.name = "ItsGroupIsRemoved", .text = "0::/kubepods/podUID/ID (deleted)\n"},
        Cgroup{.name = "StaticPod",
               .text = "0::/kubepods/burstable/podHASH/ID\n",
               .pod_uid = kMirrorUid}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    NoContainer, PlaceInCgroupTest,
    ::testing::Values(
        Cgroup{.name = "Monitor",
               .text = "0::/kubepods.slice/kubepods-podU_ID.slice/crio-conmon-ID.scope\n",
               .container_id = ""},
        Cgroup{.name = "ShortId", .text = "0::/kubepods/podUID/4711\n", .container_id = ""},
        Cgroup{.name = "LongId", .text = "0::/kubepods/podUID/ID0\n", .container_id = ""},
        Cgroup{.name = "ThePodsOwnGroup", .text = "0::/kubepods/podUID\n", .container_id = ""},
        Cgroup{.name = "NextLine", .text = "2:a:/kubepods/podUID\n1:b:/ID\n", .container_id = ""},
        Cgroup{.name = "Below", .text = "0::/kubepods/podUID/a/ID\n", .container_id = ""}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    NoPod, PlaceInCgroupTest,
    ::testing::Values(
        Cgroup{.name = "Nothing", .text = "", .pod_uid = "", .container_id = ""},
        Cgroup{.name = "Service",
               .text = "0::/system.slice/sshd.service\n",
               .pod_uid = "",
               .container_id = ""},
        Cgroup{
            .name = "Class", .text = "0::/kubepods/burstable\n", .pod_uid = "", .container_id = ""},
        Cgroup{.name = "Podman", .text = "0::/podman/pod\n", .pod_uid = "", .container_id = ""},
        Cgroup{.name = "ShortUid",
               .text = "0::/kubepods/pod0f1e/ID\n",
               .pod_uid = "",
               .container_id = ""},
        Cgroup{.name = "InAWord", .text = "0::/tripodUID/ID\n", .pod_uid = "", .container_id = ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ProcProcessesTest, ReadsTheProcessesOfAFolder) {
  const testing::TempFolder folder;
  const auto process = [&](const std::string& pid, const std::string& cgroup) {
    std::filesystem::create_directories(folder.path() + "/" + pid);
    ASSERT_TRUE(replace_file(folder.path() + "/" + pid + "/cgroup", cgroup));
  };
  process("7", std::string("0::/kubepods/pod") + kUid + "/" + kId);
  process("8", "0::/init.scope");
  process("self", std::string("0::/kubepods/pod") + kUid + "/a");
  const ProcProcesses processes(folder.path());
  EXPECT_EQ(processes.place_of(7), (ProcessPlace{kUid, kId}));
  EXPECT_EQ(processes.pod_of(7), kUid);
  EXPECT_EQ(processes.pod_of(8), "");
  EXPECT_EQ(processes.pod_of(9), "");
  EXPECT_EQ(processes.pods(), (std::map<std::string, std::int64_t>{{kUid, 7}}));
}

}  // namespace
}  // namespace tangram::node
