#include "node/vendor/nvidia/sm_chunks.hpp"

#include "tests/node/vendor/nvidia/fake_programs.hpp"
#include "tests/testing/manual_clock.hpp"
#include "tests/testing/temp_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;

class SmChunksTest : public ::testing::Test {
 protected:
  const testing::TempFolder folder_;
  FakePrograms programs_;
  testing::ManualClock clock_;
  SmChunks chunks_ = make();

  /// As when the agent is started.
  SmChunks make() {
    MpsSettings settings{.sharers = 0};
    settings.run_dir = folder_.path();
    settings.launcher = {"nsenter"};
    return {
        settings, programs_, clock_,
        [this](std::chrono::milliseconds wait, const std::stop_token&) { clock_.advance(wait); }};
  }
};

TEST_F(SmChunksTest, AreThoseThatADaemonLists) {
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  const auto starts = programs_.starts();
  ASSERT_EQ(starts.size(), 1U);
  EXPECT_EQ(starts[0].arguments.front(), "nsenter");
  EXPECT_EQ(starts[0].arguments.back(), "-S");
  EXPECT_EQ(starts[0].env.front(), "CUDA_VISIBLE_DEVICES=GPU-a");
  EXPECT_TRUE(programs_.daemons().empty()) << "it is ended";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/mps-probe/GPU-a"));
}

TEST_F(SmChunksTest, AreAskedForOncePerDriver) {
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  clock_.advance(1h);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  EXPECT_EQ(programs_.starts().size(), 1U);
  EXPECT_EQ(chunks_.of("GPU-b", "590.10"), 16);
  EXPECT_EQ(chunks_.of("GPU-a", "595.20"), 16);
  EXPECT_EQ(programs_.starts().size(), 3U);
}

TEST_F(SmChunksTest, ALaterAgentKnowsThem) {
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  SmChunks later = make();
  EXPECT_EQ(later.of("GPU-a", "590.10"), 16);
  EXPECT_EQ(programs_.starts().size(), 1U);
  EXPECT_EQ(later.of("GPU-a", "595.20"), 16);
  EXPECT_EQ(programs_.starts().size(), 2U);
}

TEST_F(SmChunksTest, AreNoneWithAnOlderDriverUntilItChanges) {
  programs_.refuse_partitions(true);
  EXPECT_EQ(chunks_.of("GPU-a", "580.10"), 0);
  EXPECT_TRUE(programs_.daemons().empty());
  programs_.refuse_partitions(false);
  clock_.advance(1h);
  EXPECT_EQ(chunks_.of("GPU-a", "580.10"), 0);
  EXPECT_EQ(programs_.starts().size(), 1U);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
}

TEST_F(SmChunksTest, StayWhileTheDriverDoesNotSayItsVersion) {
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  EXPECT_EQ(chunks_.of("GPU-a", ""), 16);
  EXPECT_EQ(programs_.starts().size(), 1U);
}

TEST_F(SmChunksTest, AreAskedOfTheCardsOwnDaemonIfItRuns) {
  const MpsFolders folders(folder_.path(), "GPU-a");
  const auto daemon = folders.make_daemon();
  ASSERT_TRUE(daemon);
  ASSERT_TRUE(SmPartitions::mark(*daemon));
  ASSERT_TRUE(
      programs_.run({{"-d", "-S"}, {"CUDA_MPS_PIPE_DIRECTORY=" + *daemon + "/pipe"}, ""}, 1s));
  ASSERT_TRUE(folders.make_current(*daemon, false));
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  EXPECT_EQ(programs_.starts().size(), 1U) << "no other";
  EXPECT_EQ(programs_.daemons().size(), 1U) << "it goes on";
}

TEST_F(SmChunksTest, AreAskedForAgainMinutesAfterAFailure) {
  programs_.refuse_starts(true);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 0);
  programs_.refuse_starts(false);
  clock_.advance(4min);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 0);
  clock_.advance(1min);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
}

TEST_F(SmChunksTest, ADaemonOfAnAgentThatWasKilledIsEndedFirst) {
  const std::string pipe = folder_.path() + "/mps-probe/GPU-a/pipe";
  std::filesystem::create_directories(pipe);
  programs_.run_daemon(pipe);
  EXPECT_EQ(chunks_.of("GPU-a", "590.10"), 16);
  EXPECT_EQ(programs_.inputs().front(), "quit\n");
  EXPECT_TRUE(programs_.daemons().empty());
}

}  // namespace
}  // namespace tangram::node::nvidia
