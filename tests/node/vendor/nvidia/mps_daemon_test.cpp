// The daemon by real processes and sockets: tests/fake_mps.

#include "node/vendor/nvidia/mps_daemon.hpp"

#include "tests/fake_mps/packets.hpp"
#include "tests/node/cards/scripted_source.hpp"
#include "tests/testing/eventually.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace tangram::node::nvidia {
namespace {

using fake_mps::ask;

class MpsDaemonTest : public ::testing::Test {
 protected:
  MpsDaemonTest() {
    std::string pattern = "/tmp/mps_XXXXXX";  // short: a socket's path has at most 107 characters
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    settings_.run_dir = pattern;
    settings_.own_shm = false;  // needs root
    ::setenv("PATH", (std::string(FAKE_MPS_FOLDER ":") + path_).c_str(), 1);
  }
  ~MpsDaemonTest() override {
    daemon_.quit();
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(settings_.run_dir);
  }

  const std::string path_ = std::getenv("PATH");
  SystemPrograms programs_;
  ScriptedSource source_;
  MpsSettings settings_;
  MpsDaemon daemon_{settings_, "GPU-a", programs_};
};

TEST_F(MpsDaemonTest, StartsAndQuits) {
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kAbsent);
  const auto started = daemon_.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kRunning);
  EXPECT_TRUE(daemon_.quit());
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kAbsent);
}

TEST_F(MpsDaemonTest, ServesClients) {
  ASSERT_TRUE(daemon_.start());
  EXPECT_EQ(ask(daemon_.pipe_dir() + "/control", "client 0=4G 25"), "memory 4096 compute 25\n");
}

TEST_F(MpsDaemonTest, StartsAfterItWasKilled) {
  ASSERT_TRUE(daemon_.start());
  daemon_.force_end(source_);
  ASSERT_TRUE(
      testing::eventually([this] { return daemon_.check() == MpsDaemon::Liveness::kAbsent; }));
  const auto started = daemon_.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kRunning);
}

}  // namespace
}  // namespace tangram::node::nvidia
