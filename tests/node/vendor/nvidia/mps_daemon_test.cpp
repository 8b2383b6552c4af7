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
  /// In a folder of the test's own.
  static MpsSettings new_settings() {
    std::string pattern = "/tmp/mps_XXXXXX";  // short: a socket's path has at most 107 characters
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    MpsSettings settings{.sharers = 16};
    settings.run_dir = pattern;
    settings.own_shm = false;  // needs root
    return settings;
  }
  MpsDaemonTest() { ::setenv("PATH", (std::string(FAKE_MPS_FOLDER ":") + path_).c_str(), 1); }
  ~MpsDaemonTest() override {
    daemon_.quit();
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(settings_.run_dir);
  }

  [[nodiscard]] const MpsFolders& folders() const { return daemon_.folders(); }
  /// What a container sees.
  [[nodiscard]] std::string client(const std::string& name) const {
    return folders().client("slot-1.a") + "/" + name;
  }

  /// Of the daemon that was started first.
  [[nodiscard]] std::string pipe() const { return folders().root() + "/daemon/1/pipe"; }
  [[nodiscard]] std::vector<std::int64_t> servers() const {
    return parse_server_pids(ask(pipe() + "/control", "get_server_list").value_or(""));
  }

  const std::string path_ = std::getenv("PATH");
  SystemPrograms programs_;
  ScriptedSource source_;
  MpsSettings settings_ = new_settings();
  MpsDaemon daemon_{settings_, "GPU-a", programs_};
};

TEST_F(MpsDaemonTest, StartsAndQuits) {
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kAbsent);
  const auto started = daemon_.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kWithoutServer);
  EXPECT_TRUE(daemon_.quit());
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kAbsent);
}

TEST_F(MpsDaemonTest, StartsAServerBeforeAnyClient) {
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.hold({.mebibytes = 8192, .percent = 50}));
  const auto started = daemon_.start_server();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kServing);
  const auto server = servers();
  ASSERT_EQ(server.size(), 1U);
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  ASSERT_TRUE(daemon_.open_to_clients());
  EXPECT_EQ(ask(client("control"), "client - -"), "memory 8192 compute 50\n");
  EXPECT_EQ(servers(), server);
}

TEST_F(MpsDaemonTest, StartsAnotherServerAfterAKill) {
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.start_server());
  const auto first = servers();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(
      programs_.kill(first[0], "nvidia-cuda-mps-server", "CUDA_MPS_PIPE_DIRECTORY=" + pipe()));
  EXPECT_TRUE(testing::eventually(
      [this] { return daemon_.check() == MpsDaemon::Liveness::kWithoutServer; }));
  ASSERT_TRUE(daemon_.start_server());
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kServing);
  EXPECT_NE(servers(), first);
}

TEST_F(MpsDaemonTest, SaysThatItCannotStartAServer) {
  const auto started = daemon_.start_server();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kUnavailable);
  EXPECT_NE(started.error().message.find("GPU-a"), std::string::npos);
}

TEST_F(MpsDaemonTest, ServesClientsOnceItIsOpened) {
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  ASSERT_TRUE(daemon_.start());
  EXPECT_EQ(ask(client("control"), "client 0=4G 25"), std::nullopt);
  const auto opened = daemon_.open_to_clients();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(ask(client("control"), "client 0=4G 25"), "memory 4096 compute 25\n");
}

TEST_F(MpsDaemonTest, AClientCannotQuitTheDaemon) {
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.open_to_clients());
  EXPECT_EQ(ask(client("control_privileged"), "quit"), std::nullopt);
  ask(client("control"), "quit");
  EXPECT_EQ(daemon_.check(), MpsDaemon::Liveness::kWithoutServer);
}

TEST_F(MpsDaemonTest, StartsAfterAKillAndLinksItsClients) {
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.open_to_clients());
  daemon_.force_end(source_);
  ASSERT_TRUE(
      testing::eventually([this] { return daemon_.check() == MpsDaemon::Liveness::kAbsent; }));
  const auto started = daemon_.start();
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(daemon_.open_to_clients());
  EXPECT_EQ(ask(client("control"), "client - -"), "memory none compute 100\n");
  EXPECT_EQ(folders().daemons(), (std::vector<std::string>{folders().current()}));
}

TEST_F(MpsDaemonTest, HoldsClientsWithoutLimitsOfTheirOwn) {
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.hold({.mebibytes = 8192, .percent = 50}));
  ASSERT_TRUE(daemon_.open_to_clients());
  EXPECT_EQ(ask(client("control"), "client - -"), "memory 8192 compute 50\n");
  EXPECT_EQ(ask(client("control"), "client 0=64G 100"), "memory 8192 compute 50\n");
  EXPECT_EQ(ask(client("control"), "client 0=4G 25"), "memory 4096 compute 25\n");
  const auto raised = daemon_.hold({.mebibytes = 16'384, .percent = 75});
  ASSERT_TRUE(raised) << raised.error().message;
  EXPECT_EQ(ask(client("control"), "client - -"), "memory 16384 compute 75\n");
}

TEST_F(MpsDaemonTest, AdmitsClientsOnlyToTheirSmPartitions) {
  settings_.sm_partitions = true;
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.hold({.mebibytes = 8192, .percent = 50}));
  ASSERT_TRUE(daemon_.open_to_clients());
  EXPECT_TRUE(daemon_.divides_as_set());
  const auto reserved = daemon_.partitions().reserve("slot-1.a", {{"slot-1.a", MilliGpu(500)}});
  ASSERT_TRUE(reserved) << reserved.error().message;
  const std::string own = SmPartitions::id_of(folders().current(), "slot-1.a");
  ASSERT_TRUE(folders().add_client("slot-1.a"));
  EXPECT_EQ(ask(client("control"), "client - - " + own), "memory 8192 compute 100\n");
  EXPECT_EQ(ask(client("control"), "client - -"),
            "error: CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n");
  EXPECT_TRUE(daemon_.partitions().keep({}));
  EXPECT_NE(ask(client("control"), "client - - " + own), "memory 8192 compute 100\n");
}

TEST_F(MpsDaemonTest, ALaterAgentFindsIt) {
  ASSERT_TRUE(daemon_.start());
  ASSERT_TRUE(daemon_.start_server());
  ASSERT_TRUE(daemon_.open_to_clients());
  MpsDaemon later(settings_, "GPU-a", programs_);
  EXPECT_EQ(later.check(), MpsDaemon::Liveness::kServing);
}

}  // namespace
}  // namespace tangram::node::nvidia
