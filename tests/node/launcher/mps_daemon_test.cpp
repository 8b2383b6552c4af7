// The agent's commands for MPS daemons, through the program and with tests/fake_mps.

#include "node/vendor/nvidia/mps_daemon.hpp"

#include "base/file.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/launcher/processes.hpp"
#include "tests/node/launcher/running_launcher.hpp"
#include "tests/testing/eventually.hpp"

#include <cstdlib>

namespace tangram::node::launcher {
namespace {

using nvidia::MpsDaemon;
using tangram::testing::eventually;

class LaunchedMpsDaemonTest : public ::testing::Test {
 protected:
  LaunchedMpsDaemonTest() { set_path(std::string(FAKE_MPS_FOLDER ":") + path_); }
  ~LaunchedMpsDaemonTest() override {
    daemon_.quit();
    set_path(path_);
  }
  static void set_path(const std::string& path) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
    ::setenv("PATH", path.c_str(), 1);
  }
  [[nodiscard]] nvidia::MpsSettings settings() const {
    nvidia::MpsSettings settings{.sharers = 16};
    settings.run_dir = folder_.path();
    settings.own_shm = false;  // needs root
    settings.launcher = {TANGRAM_LAUNCHER, "run", "--socket", launcher_.path(), "--"};
    return settings;
  }
  /// Of the daemon that was started first.
  [[nodiscard]] std::string pid() const {
    const auto text =
        read_file(daemon_.folders().root() + "/daemon/1/pipe/nvidia-cuda-mps-control.pid");
    return text ? text->substr(0, text->find('\n')) : "none";
  }

  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
  const std::string path_ = std::getenv("PATH");
  RunningLauncher launcher_;
  testing::TempFolder folder_;
  SystemPrograms programs_;
  ScriptedSource source_;
  nvidia::MpsSettings settings_ = settings();
  MpsDaemon daemon_{settings_, "GPU-a", programs_};
};

TEST_F(LaunchedMpsDaemonTest, RunsAsAChildOfTheLauncherUntilItQuits) {
  const auto started = daemon_.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kWithoutServer);
  const std::string daemon = pid();
  EXPECT_EQ(parent_of(daemon), std::to_string(launcher_.pid()));
  ASSERT_TRUE(daemon_.start_server());
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kServing);
  EXPECT_TRUE(daemon_.quit());
  EXPECT_TRUE(eventually([&] { return !is_there(daemon); }));
}

TEST_F(LaunchedMpsDaemonTest, TheAgentFindsItToKillIt) {
  ASSERT_TRUE(daemon_.start());
  const std::string daemon = pid();
  ASSERT_TRUE(is_there(daemon));
  daemon_.force_end(source_);
  EXPECT_TRUE(eventually([&] { return !is_there(daemon); }));
}

TEST_F(LaunchedMpsDaemonTest, WithoutTheLaunchersPodItIsTriedAgain) {
  launcher_.process().kill();
  const auto started = daemon_.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kUnavailable);
  EXPECT_NE(started.error().message.find("is tangram-mps running on this node?"), std::string::npos)
      << started.error().message;
}

TEST_F(LaunchedMpsDaemonTest, SaysThatTheProgramIsNotInstalled) {
  set_path(folder_.path() + "/none");
  const auto started = daemon_.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kInvalidArgument) << started.error().message;
}

}  // namespace
}  // namespace tangram::node::launcher
