#include "node/kubelet/registrar.hpp"

#include "model/request.hpp"
#include "tests/node/kubelet/fake_kubelet.hpp"
#include "tests/testing/eventually.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

namespace tangram::node {
namespace {

using testing::eventually;

/// Not asked here.
class NoSlots final : public SlotKeeper {
 public:
  Result<AllocateResponse> allocate(const std::vector<std::string>& /*slots*/) override {
    return fail(Errc::kUnavailable, "no slots");
  }
  Result<void> prepare_start(const std::vector<std::string>& /*slots*/) override { return {}; }
};

/// The node has no inotify instance left until `exhausted` is false.
class UnwatchedRegistrarTest : public ::testing::Test {
 protected:
  UnwatchedRegistrarTest() {
    plugin.set_slots(32);
    thread = std::thread([this] { registrar.run(stop.get_token()); });
  }
  ~UnwatchedRegistrarTest() override {
    stop.request_stop();
    thread.join();
  }
  Result<FolderWatch> open(const std::string& path) {
    ++tries;
    if (exhausted) return folder_watch_error(path, EMFILE);
    auto watch = FolderWatch::open(path);
    watching = watch.has_value();
    return watch;
  }
  [[nodiscard]] bool registered() {
    return eventually([&] { return kubelet.slots() == 32; });
  }

  testing::TempFolder folder;
  testing::FakeKubelet kubelet{folder.path(), 1};
  NoSlots keeper;
  DevicePlugin plugin{keeper};
  std::atomic<bool> exhausted = true;
  std::atomic<bool> watching = false;
  std::atomic<int> tries = 0;
  Registrar registrar{{.folder = kubelet.plugin_folder()},
                      std::string(model::kSlotResource),
                      plugin,
                      [this](const std::string& path) { return open(path); }};
  std::stop_source stop;
  std::thread thread;
};

TEST_F(UnwatchedRegistrarTest, RegistersAndComesBackAfterARestartOfKubelet) {
  kubelet.start();
  ASSERT_TRUE(registered());
  kubelet.stop();
  kubelet.start();  // removes our socket
  EXPECT_TRUE(registered());
  EXPECT_FALSE(watching);
}

TEST_F(UnwatchedRegistrarTest, WatchesTheFolderOnceItCan) {
  kubelet.start();
  ASSERT_TRUE(eventually([&] { return tries >= 2; }));
  exhausted = false;
  EXPECT_TRUE(eventually([&] { return watching.load(); }));
  EXPECT_TRUE(registered());
  EXPECT_EQ(kubelet.registrations(), 1);
}

}  // namespace
}  // namespace tangram::node
