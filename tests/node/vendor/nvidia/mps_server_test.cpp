// The server of a card's MPS daemon: the process that holds the card.

#include "tests/node/vendor/nvidia/mps_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;

class MpsServerTest : public MpsEnforcerTest {
 protected:
  [[nodiscard]] Result<void> prepare() {
    return enforcer_->prepare("GPU-a", sharers({"slot-1.a"}));
  }
  /// How often a daemon was told to start a server.
  [[nodiscard]] std::ptrdiff_t server_starts() const {
    const auto inputs = programs_.inputs();
    return std::count(inputs.begin(), inputs.end(), "start_server -uid 0\n");
  }
};

TEST_F(MpsServerTest, StartsWithItsLimitsBeforeAnyContainer) {
  ASSERT_TRUE(prepare());
  const auto inputs = programs_.inputs();
  const auto started = std::find(inputs.begin(), inputs.end(), "start_server -uid 0\n");
  ASSERT_NE(started, inputs.end());
  EXPECT_NE(std::find(inputs.begin(), started,
                      "set_default_device_pinned_mem_limit 0 8192M\n"
                      "set_default_active_thread_percentage 25\n"),
            started);
  EXPECT_NE(std::find(started, inputs.end(), "get_server_list\n"), inputs.end());
  EXPECT_EQ(server_starts(), 1);
}

TEST_F(MpsServerTest, IsWaitedFor) {
  programs_.delay_servers(3);
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_TRUE(enforced("GPU-a"));
  const auto inputs = programs_.inputs();
  EXPECT_GE(std::count(inputs.begin(), inputs.end(), "get_server_list\n"), 4);
  EXPECT_EQ(server_starts(), 1);
}

TEST_F(MpsServerTest, WithoutOneNoClientReachesTheDaemon) {
  programs_.refuse_servers(true);
  const TimePoint before = clock_.now();
  const auto prepared = prepare();
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kUnavailable);
  EXPECT_NE(prepared.error().message.find("server"), std::string::npos);
  EXPECT_LE(clock_.now() - before, 5s);
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a") + "/current"));
  EXPECT_FALSE(enforced("GPU-a"));
}

TEST_F(MpsServerTest, ThatCannotHaveTheCardDoesNotCount) {
  programs_.end_servers_after(2);
  const auto prepared = prepare();
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Errc::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(root("GPU-a") + "/current"));
  EXPECT_FALSE(enforced("GPU-a"));
}

TEST_F(MpsServerTest, ThatEndedHoldsNoCard) {
  ASSERT_TRUE(prepare());
  programs_.replace_servers({});
  enforcer_->maintain();
  EXPECT_FALSE(enforced("GPU-a"));
  EXPECT_EQ(server_starts(), 2);
}

TEST_F(MpsServerTest, IsStartedAgainByTheSameDaemon) {
  ASSERT_TRUE(prepare());
  programs_.replace_servers({});
  enforcer_->maintain();
  clock_.advance(1s);
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(server_starts(), 2);
  EXPECT_EQ(programs_.starts().size(), 1U);
}

TEST_F(MpsServerTest, OfADaemonThatAnEarlierAgentStartedIsStartedToo) {
  ASSERT_TRUE(prepare());
  programs_.replace_servers({});
  renew();
  enforcer_->keep({{"GPU-a", sharers({"slot-1.a"})}});
  enforcer_->maintain();
  EXPECT_FALSE(enforced("GPU-a"));
  clock_.advance(1s);
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(server_starts(), 2);
  EXPECT_EQ(programs_.starts().size(), 1U);
}

TEST_F(MpsServerTest, ThatDoesNotStayIsStartedWithGrowingPauses) {
  ASSERT_TRUE(prepare());
  programs_.refuse_servers(true);
  programs_.replace_servers({});
  enforcer_->maintain();
  std::vector<std::int64_t> pauses;
  for (std::int64_t waited = 1; pauses.size() < 4; ++waited) {
    ASSERT_LE(waited, 60);
    const auto before = server_starts();
    clock_.advance(1s);
    enforcer_->maintain();
    EXPECT_FALSE(enforced("GPU-a"));
    if (server_starts() == before) continue;
    pauses.push_back(waited);
    waited = 0;
  }
  EXPECT_EQ(pauses, (std::vector<std::int64_t>{1, 2, 4, 8}));
}

TEST_F(MpsServerTest, OfAnotherUserHoldsTheCardAsWell) {
  ASSERT_TRUE(prepare());
  programs_.replace_servers({4713});
  enforcer_->maintain();
  EXPECT_TRUE(enforced("GPU-a"));
  EXPECT_EQ(server_starts(), 1);
}

}  // namespace
}  // namespace tangram::node::nvidia
