#include "node/kubelet/device_plugin.hpp"

#include "model/request.hpp"
#include "node/kubelet/pod_resources.hpp"
#include "node/kubelet/registrar.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <mutex>
#include <thread>

namespace tangram::node {
namespace {

using testing::eventually;
using testing::FakeKubelet;

constexpr VendorRuntime kRuntime{.variable = "ACME_DEVICES", .no_card = "none", .setup = ""};

/// Gives scripted answers and records the requests.
class ScriptedKeeper final : public SlotKeeper {
 public:
  Result<AllocateResponse> allocate(const std::vector<std::string>& slots) override {
    const std::lock_guard lock(mutex);
    allocated.push_back(slots);
    return allocate_response("name-of-" + slots.front(), NamePath::kCdiDevices, kRuntime);
  }
  Result<void> prepare_start(const std::vector<std::string>& slots) override {
    const std::lock_guard lock(mutex);
    prepared.push_back(slots);
    return verdict;
  }
  std::mutex mutex;
  std::vector<std::vector<std::string>> allocated;
  std::vector<std::vector<std::string>> prepared;
  Result<void> verdict;
};

class DevicePluginTest : public ::testing::Test {
 protected:
  ~DevicePluginTest() override {
    stop.request_stop();
    if (registrar_thread.joinable()) registrar_thread.join();
  }
  void begin(int slots = 32) {
    plugin.set_slots(slots);
    registrar_thread = std::thread([this] { registrar.run(stop.get_token()); });
  }
  static FakeKubelet::Owner owner(const std::string& pod) {
    return {.uid = "uid-" + pod, .pod = pod};
  }

  testing::TempFolder folder;
  FakeKubelet kubelet{folder.path(), 1};
  ScriptedKeeper keeper;
  DevicePlugin plugin{keeper};
  const PluginPaths paths{.folder = kubelet.plugin_folder()};
  Registrar registrar{paths, std::string(model::kSlotResource), plugin};
  std::stop_source stop;
  std::thread registrar_thread;
};

TEST_F(DevicePluginTest, RegistersAndTellsOfItsSlots) {
  kubelet.start();
  begin(32);
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  plugin.set_slots(48);
  EXPECT_TRUE(eventually([&] { return kubelet.slots() == 48; }));
  EXPECT_EQ(kubelet.registrations(), 1);
}

TEST_F(DevicePluginTest, WaitsForAKubeletThatStartsLater) {
  begin();
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(paths.socket()); }));
  kubelet.start();
  EXPECT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
}

TEST_F(DevicePluginTest, ComesBackAfterEveryRestartOfKubelet) {
  kubelet.start();
  begin();
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; })) << "round " << round;
    kubelet.stop();
    kubelet.start();  // removes our socket
  }
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  EXPECT_EQ(kubelet.admit(owner("a")), "");
}

TEST_F(DevicePluginTest, RegistersAgainWhenKubeletDropsTheStream) {
  kubelet.start();
  begin();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  kubelet.drop_stream();
  EXPECT_TRUE(eventually([&] { return kubelet.registrations() >= 2 && kubelet.slots() == 32; }));
}

TEST_F(DevicePluginTest, PassesOnWhatKubeletAsks) {
  kubelet.start();
  begin();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  ASSERT_EQ(kubelet.admit(owner("a"), 2), "");
  EXPECT_EQ(keeper.allocated,
            (std::vector<std::vector<std::string>>{kubelet.slots_of(owner("a"))}));
  EXPECT_EQ(kubelet.device_of(owner("a")),
            "tangram.dev/slot=name-of-" + kubelet.slots_of(owner("a")).front());
  EXPECT_EQ(kubelet.start_container(owner("a")), "");
  EXPECT_EQ(keeper.prepared, (std::vector<std::vector<std::string>>{kubelet.slots_of(owner("a"))}));
}

TEST_F(DevicePluginTest, SaysWhetherARefusalIsFinal) {
  kubelet.start();
  begin();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  ASSERT_EQ(kubelet.admit(owner("a")), "");
  keeper.verdict = fail(Errc::kInvalidArgument, "the card is gone");
  EXPECT_EQ(kubelet.start_container(owner("a")), "tangram: cannot start: the card is gone");
  keeper.verdict = fail(Errc::kUnavailable, "the daemon starts");
  EXPECT_EQ(kubelet.start_container(owner("a")), "tangram: not yet: the daemon starts");
}

TEST_F(DevicePluginTest, OnlyItsOwnerMayConnect) {
  kubelet.start();
  begin();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  struct stat info {};
  ASSERT_EQ(stat(paths.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO), S_IRUSR | S_IWUSR);
}

// ---- PodResources ----

class PodResourcesTest : public DevicePluginTest {
 protected:
  PodResources resources{kubelet.pod_resources_socket(), std::string(model::kSlotResource)};
};

TEST_F(PodResourcesTest, NamesWhoHoldsWhat) {
  kubelet.start();
  begin();
  ASSERT_TRUE(eventually([&] { return kubelet.slots() == 32; }));
  ASSERT_EQ(kubelet.admit(owner("a"), 2, {"slot-9", "slot-3"}), "");
  FakeKubelet::Owner init = owner("b");
  init.init = true;
  ASSERT_EQ(kubelet.admit(init), "");
  const auto list = resources.list();
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, (PodList{{"ml", "a", "main", {"slot-3", "slot-9"}}}));
}

TEST_F(PodResourcesTest, AsksAgainWhatTheRateLimitRefused) {
  kubelet.start();
  kubelet.refuse_lists(3);
  EXPECT_TRUE(resources.list());
  EXPECT_EQ(kubelet.lists(), 4U);
}

TEST_F(PodResourcesTest, CallersWhoComeTogetherShareOneList) {
  kubelet.start();
  kubelet.refuse_lists(2);  // keeps the first list under way for a while
  std::vector<std::thread> callers;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 40; ++i) {
    callers.emplace_back([&] { answered += resources.list() ? 1 : 0; });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(answered, 40);
  EXPECT_LT(kubelet.lists(), 40U);
}

TEST_F(PodResourcesTest, SaysThatKubeletDoesNotAnswer) {
  PodResources impatient(kubelet.pod_resources_socket(), "r", std::chrono::milliseconds(50));
  const auto list = impatient.list();
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node
