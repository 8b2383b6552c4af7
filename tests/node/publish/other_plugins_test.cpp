#include "node/publish/other_plugins.hpp"

#include "tests/node/container/start_fakes.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Names = std::set<std::string>;

class OtherPluginsTest : public ::testing::Test {
 protected:
  OtherPluginsTest() { add_pod("u1"); }
  void add_pod(const std::string& uid) {
    LocalPod pod;
    pod.pod.uid = uid;
    pods.put(std::move(pod));
  }

  FakePods pods;
  std::map<std::string, std::int64_t> with_process;  ///< a process of each pod
  Result<Checkpoint> checkpoint = Checkpoint{};
  OtherPlugins plugins{{.checkpoint = [this] { return checkpoint; },
                        .pods = pods,
                        .with_process = [this] { return with_process; }}};
};

TEST_F(OtherPluginsTest, NamesTheResourcesByWhichPodsHaveCards) {
  EXPECT_EQ(plugins.in_use(), Names{});
  checkpoint->others = {{"u1", "nvidia.com/gpu"},
                        {"u1", "nvidia.com/mig-1g.10gb"},
                        {"u1", "nvidia.com/gpu"},
                        {"u1", "rdma/hca"}};
  EXPECT_EQ(plugins.in_use(), (Names{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb"}));
}

TEST_F(OtherPluginsTest, AnEntryCountsWhileItsPodLives) {
  checkpoint->others = {{"u2", "nvidia.com/gpu"}};
  EXPECT_EQ(plugins.in_use(), Names{}) << "kubelet removes it at its next allocation";
  with_process = {{"u2", 1}};
  EXPECT_EQ(plugins.in_use(), Names{"nvidia.com/gpu"}) << "deleted by force, and still runs";
}

TEST_F(OtherPluginsTest, BeforeThePodsAreKnownNothingIsKnown) {
  pods.reachable(false, false);
  EXPECT_EQ(plugins.in_use(), std::nullopt);
}

TEST_F(OtherPluginsTest, WithoutACheckpointKubeletHasGivenNothing) {
  checkpoint = fail(Errc::kNotFound, "no file");
  EXPECT_EQ(plugins.in_use(), Names{});
}

TEST_F(OtherPluginsTest, AnUnreadableCheckpointChangesNothing) {
  const Result<Checkpoint> broken = fail(Errc::kInvalidArgument, "no JSON");
  checkpoint = broken;
  EXPECT_EQ(plugins.in_use(), std::nullopt) << "nor does it say that none is in use";
  checkpoint = Checkpoint{.slots = {}, .others = {{"u1", "nvidia.com/gpu"}}};
  ASSERT_EQ(plugins.in_use(), Names{"nvidia.com/gpu"});
  checkpoint = broken;
  EXPECT_EQ(plugins.in_use(), Names{"nvidia.com/gpu"});
}

TEST(OtherPluginsGpuTest, KnowsTheirNames) {
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb"}) {
    EXPECT_TRUE(is_other_plugins_gpu(name)) << name;
  }
  for (const char* name : {"tangram.dev/gpu-slot", "rdma/hca", "nvidia.com/gpu-x"}) {
    EXPECT_FALSE(is_other_plugins_gpu(name)) << name;
  }
}

}  // namespace
}  // namespace tangram::node
