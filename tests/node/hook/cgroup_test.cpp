#include "node/hook/cgroup.hpp"

#include "tests/node/hook/fake_host.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

namespace tangram::node::hook {
namespace {

TEST(CgroupPathTest, IsThatOfTheUnifiedHierarchy) {
  EXPECT_EQ(*cgroup_path("0::/kubepods/pod1/a\n"), "/kubepods/pod1/a");
  EXPECT_EQ(*cgroup_path("0::/a"), "/a");
  EXPECT_EQ(*cgroup_path("0::/..a/b..\n"), "/..a/b..") << "names, not steps upwards";
  EXPECT_EQ(*cgroup_path("12:pids:/x\n1:name=systemd:/x\n0::/system.slice/a b\n"),
            "/system.slice/a b");
}

struct PathCase {
  std::string name;
  std::string text;
  Errc code;
  std::string message;  ///< a part of it

  friend void PrintTo(const PathCase& c, std::ostream* out) { *out << c.name; }
};

class BadPathTest : public ::testing::TestWithParam<PathCase> {};

TEST_P(BadPathTest, IsRefusedWithAReason) {
  const auto path = cgroup_path(GetParam().text);
  ASSERT_FALSE(path) << *path;
  EXPECT_EQ(path.error().code, GetParam().code);
  EXPECT_NE(path.error().message.find(GetParam().message), std::string::npos)
      << path.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadPathTest,
    ::testing::ValuesIn(std::vector<PathCase>{
        {"Nothing", "", Errc::kUnavailable, "cgroup v1"},
        {"V1", "12:pids:/a\n1:name=systemd:/a\n", Errc::kUnavailable, "cgroup v1"},
        {"UnifiedInsideALine", "1:name=0::/a\n", Errc::kUnavailable, "cgroup v1"},
        {"Root", "0::/\n", Errc::kConflict, "the whole node"},
        {"ParentOfTheNamespace", "0::/..\n", Errc::kConflict, "namespace"},
        {"BesideTheNamespace", "0::/../../kubepods/a\n", Errc::kConflict, "namespace"},
        {"StepUpwards", "0::/kubepods/../system.slice\n", Errc::kConflict, "never writes"},
        {"StepNowhere", "0::/kubepods/./a\n", Errc::kConflict, "never writes"},
        {"EmptyName", "0::/kubepods//a\n", Errc::kConflict, "never writes"},
        {"SlashAtTheEnd", "0::/kubepods/\n", Errc::kConflict, "never writes"},
        {"Relative", "0::kubepods\n", Errc::kConflict, "never writes"},
        {"Empty", "0::\n", Errc::kConflict, "never writes"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(OfContainerTest, EveryWayRuntimesNameCgroups) {
  for (const char* path :
       {"/kubepods/burstable/pod0f1e/4a5b", "/kubepods.slice/x.slice/cri-containerd-4a5b.scope",
        "/kubepods.slice/crio-4a5b.scope/container", "/machine.slice/libpod-4a5b.scope",
        "/docker/4a5b"}) {
    EXPECT_TRUE(is_of_container(path, "4a5b")) << path;
  }
}

TEST(OfContainerTest, OthersAreNot) {
  for (const char* path : {"/kubepods/pod0f1e/4a5b6", "/kubepods/pod0f1e/04a5b",
                           "/kubepods/cri-containerd-04a5b.scope", "/kubepods/4a5b-x.scope",
                           "/system.slice/containerd.service", "/", "", "4a5b"}) {
    EXPECT_FALSE(is_of_container(path, "4a5b")) << path;
  }
  EXPECT_FALSE(is_of_container("/a/b", ""));
}

class LeafTest : public ::testing::Test {
 protected:
  void expect_refused(Errc code, const std::string& message) const {
    const auto leaf = leaf_of(FakeHost::container(), host_.folders());
    ASSERT_FALSE(leaf) << leaf->path;
    EXPECT_EQ(leaf.error().code, code);
    EXPECT_NE(leaf.error().message.find(message), std::string::npos) << leaf.error().message;
  }

  FakeHost host_;
};

TEST_F(LeafTest, IsTheCgroupOfTheContainersProcess) {
  const auto leaf = leaf_of(FakeHost::container(), host_.folders());
  ASSERT_TRUE(leaf) << leaf.error().message;
  EXPECT_EQ(leaf->container, FakeHost::kId);
  EXPECT_EQ(leaf->path, FakeHost::path());
  EXPECT_NE(leaf->inode, leaf->root);
  const auto folder = folder_of(*leaf, host_.cgroup_root());
  ASSERT_TRUE(folder) << folder.error().message;
  EXPECT_EQ(**folder, host_.leaf());
}

TEST_F(LeafTest, AnotherCgroupOfTheSamePathIsAnother) {
  const auto leaf = leaf_of(FakeHost::container(), host_.folders());
  std::filesystem::rename(host_.leaf(), host_.folder() + "/kept");  // so that its inode is not free
  EXPECT_FALSE(*folder_of(*leaf, host_.cgroup_root())) << "removed";
  std::filesystem::create_directories(host_.leaf());
  EXPECT_FALSE(*folder_of(*leaf, host_.cgroup_root()));
}

TEST_F(LeafTest, WithoutTheHostsCgroupsItIsUnknownWhetherOneWasRemoved) {
  const auto leaf = leaf_of(FakeHost::container(), host_.folders());
  for (const std::string& root : {host_.proc(), host_.folder() + "/none"}) {
    const auto folder = folder_of(*leaf, root);
    ASSERT_FALSE(folder) << "it would seem to be gone";
    EXPECT_EQ(folder.error().code, Errc::kUnavailable);
    EXPECT_NE(folder.error().message.find("cgroup namespace"), std::string::npos);
  }
}

TEST_F(LeafTest, ARootOfTheSameNumberInAnotherFileSystemIsAnother) {
  auto leaf = leaf_of(FakeHost::container(), host_.folders());
  leaf->filesystem = kCgroup2;
  std::filesystem::remove_all(host_.leaf());
  const auto folder = folder_of(*leaf, host_.cgroup_root());
  ASSERT_FALSE(folder) << "it would seem to be gone";
  EXPECT_EQ(folder.error().code, Errc::kUnavailable);
}

TEST_F(LeafTest, ACgroupThatGotChildrenIsNoLeafAnyMore) {
  const auto leaf = leaf_of(FakeHost::container(), host_.folders());
  std::filesystem::create_directories(host_.leaf() + "/system.slice");
  const auto folder = folder_of(*leaf, host_.cgroup_root());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Errc::kConflict);
  EXPECT_NE(folder.error().message.find("remove the cgroups"), std::string::npos);
}

TEST_F(LeafTest, NeedsTheProcess) {
  std::filesystem::remove_all(host_.proc());
  expect_refused(Errc::kNotFound, "process 4711 of container 3fc4");
}

TEST_F(LeafTest, NeedsTheFolder) {
  std::filesystem::remove_all(host_.leaf());
  expect_refused(Errc::kNotFound, "--cgroup-root");
}

TEST_F(LeafTest, RefusesCgroupV1BesideV2) {
  std::filesystem::remove(host_.cgroup_root() + "/cgroup.controllers");
  expect_refused(Errc::kUnavailable, "systemd.unified_cgroup_hierarchy=1");
}

TEST_F(LeafTest, RefusesTheCgroupOfAnother) {
  host_.put_process("/system.slice/containerd.service");
  expect_refused(Errc::kConflict, "not named after container 3fc4");
}

TEST_F(LeafTest, RefusesACgroupWithChildren) {
  std::filesystem::create_directories(host_.leaf() + "/init");
  expect_refused(Errc::kConflict, "it has the child init");
}

TEST_F(LeafTest, RefusesAFolderThatDoesNotListTheProcess) {
  FakeHost::write(host_.leaf() + "/cgroup.procs", "471\n47110\n");
  expect_refused(Errc::kConflict, "does not list process 4711");
  std::filesystem::remove(host_.leaf() + "/cgroup.procs");
  expect_refused(Errc::kNotFound, "cgroup.procs");
}

}  // namespace
}  // namespace tangram::node::hook
