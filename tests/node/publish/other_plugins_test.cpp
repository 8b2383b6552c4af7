#include "node/publish/other_plugins.hpp"

#include "tests/node/container/start_fakes.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Names = std::set<std::string>;

class OtherPluginsTest : public ::testing::Test {
 protected:
  OtherPluginsTest() {
    add_pod("u1");
    Inventory inventory;
    inventory.cards.resize(2);
    inventory.cards[0].card.id = "GPU-a";
    inventory.cards[1].card.id = "MIG-b";
    cards = std::make_shared<const CardsNow>(CardsNow{std::move(inventory), true});
  }
  void add_pod(const std::string& uid) {
    LocalPod pod;
    pod.pod.uid = uid;
    pods.put(std::move(pod));
  }

  FakePods pods;
  std::map<std::string, std::int64_t> with_process;  ///< a process of each pod
  CardsPtr cards;
  Result<Checkpoint> checkpoint = Checkpoint{};
  OtherPlugins plugins{{.checkpoint = [this] { return checkpoint; },
                        .pods = pods,
                        .cards = [this] { return cards; },
                        .with_process = [this] { return with_process; }}};
};

TEST_F(OtherPluginsTest, NamesTheResourcesByWhichPodsHaveCards) {
  EXPECT_EQ(plugins.in_use(), Names{});
  checkpoint->others = {{"u1", "nvidia.com/gpu", {}},
                        {"u1", "nvidia.com/mig-1g.10gb", {}},
                        {"u1", "nvidia.com/gpu", {}},
                        {"u1", "rdma/hca", {"mlx5_0"}}};
  EXPECT_EQ(plugins.in_use(), (Names{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb"}));
}

TEST_F(OtherPluginsTest, AResourceOfAnyNameCountsIfItsDeviceIsACard) {
  checkpoint->others = {{"u1", "acme.example/gpu-for-teams", {"GPU-x", "GPU-a::3"}},
                        {"u1", "acme.example/slice", {"MIG-b"}},
                        {"u1", "acme.example/of-another-node", {"GPU-aa", "GPU-x"}}};
  EXPECT_EQ(plugins.in_use(), (Names{"acme.example/gpu-for-teams", "acme.example/slice"}));
}

TEST_F(OtherPluginsTest, AnEntryCountsWhileItsPodLives) {
  checkpoint->others = {{"u2", "nvidia.com/gpu", {}}};
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
  checkpoint = Checkpoint{.slots = {}, .others = {{"u1", "nvidia.com/gpu", {}}}};
  ASSERT_EQ(plugins.in_use(), Names{"nvidia.com/gpu"});
  checkpoint = broken;
  EXPECT_EQ(plugins.in_use(), Names{"nvidia.com/gpu"});
}

TEST(OtherPluginsGpuTest, KnowsTheirNames) {
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb",
                           "amd.com/gpu", "amd.com/cpx_nps4", "amd.com/spx_nps1"}) {
    EXPECT_TRUE(is_other_plugins_gpu(name)) << name;
  }
  for (const char* name :
       {"tangram.dev/gpu-slot", "rdma/hca", "nvidia.com/gpu-x", "amd.com/gpu.x", "amd.com/nic"}) {
    EXPECT_FALSE(is_other_plugins_gpu(name)) << name;
  }
}

TEST(OtherPluginsGpuTest, KnowsTheDevicesOfACard) {
  for (const char* device : {"GPU-a", "GPU-a::0", "GPU-a-1", "GPU-a/vgpu0"}) {
    EXPECT_TRUE(is_of_card(device, "GPU-a")) << device;
  }
  for (const char* device : {"GPU-aa", "GPU-a1", "GPU-", "", "xGPU-a"}) {
    EXPECT_FALSE(is_of_card(device, "GPU-a")) << device;
  }
  EXPECT_FALSE(is_of_card("x", ""));
}

}  // namespace
}  // namespace tangram::node
