// Restarted containers keep their card, whatever was lost in between.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

// The kubelet of these tests waits at most 1 s before it starts a crashed container again.
const std::vector<std::string> kCrashSoon = {"crash", "200"};
const std::vector<std::string> kCrashRarely = {"crash", "3000"};

class NodeRestartTest : public NodeTest {
 protected:
  /// `count` pods whose containers crash repeatedly, each started at least once.
  void start_crashing(int count, const std::vector<std::string>& program) {
    for (int i = 0; i < count; ++i) {
      // Shares of different sizes, so that no two containers should see the same.
      const std::string share = "0.0" + std::to_string(10 + i);
      create(gpu_pod("crash-" + std::to_string(i), {{"gpu-fraction", share}}, program));
    }
    ASSERT_TRUE(eventually(60s, [&] {
      const auto all = states();
      return std::ranges::all_of(all, [](const auto& pod) { return !pod.second.node.empty(); });
    }));
    for (const auto& [name, pod] : states()) uids_.push_back(pod.uid);
    ASSERT_TRUE(wait_more_starts(1, 60s));
  }

  /// Blocks until each of them has started `more` times more.
  bool wait_more_starts(int more, std::chrono::seconds limit) {
    starts_.read();
    std::vector<int> wanted;
    for (const auto& uid : uids_) wanted.push_back(static_cast<int>(starts_.of(uid).size()) + more);
    for (std::size_t i = 0; i < uids_.size(); ++i) {
      if (!wait_starts(uids_[i], "main", wanted[i], limit)) return false;
    }
    return true;
  }

  std::vector<std::string> uids_;
};

TEST_F(NodeRestartTest, CrashingContainersKeepTheirCard) {
  const int pods = sized(12, 4);
  const int restarts = sized(20, 5);
  start_crashing(pods, kCrashSoon);
  // Other pods take slots meanwhile, so that a restart could get a wrong one.
  auto random = seeded_random();
  create(random_pods(sized(16, 4), "other", random));
  EXPECT_TRUE(wait_more_starts(restarts, 180s));
  expect_all_starts_right();
  Figures("node_crash_loop")
      .add("pods", pods)
      .add("restarts_each_at_least", restarts)
      .add("starts", static_cast<int>(starts_.read().size()));
}

TEST_F(NodeRestartTest, RecoversFromALostCdiFolder) {
  const int rounds = sized(5, 1);
  start_crashing(4, kCrashRarely);
  for (int round = 0; round < rounds; ++round) {
    // First while the agent runs, then before it restarts.
    for (const auto& spec : std::filesystem::directory_iterator(node_.cdi())) {
      std::filesystem::remove_all(spec);
    }
    EXPECT_TRUE(wait_more_starts(2, 60s)) << "round " << round;
    node_.kill("tangram-node");
    std::filesystem::remove_all(node_.cdi());
    node_.start("tangram-node", agent_arguments());
    EXPECT_TRUE(wait_more_starts(2, 60s)) << "round " << round << ", the folder too";
  }
  expect_all_starts_right();
  Figures("node_cdi_lost")
      .add("times", 2 * rounds)
      .add("pods", 4)
      .add("starts", static_cast<int>(starts_.read().size()));
}

TEST_F(NodeRestartTest, RestartsWhatItKnowsWhileTheApiServerIsDown) {
  start_crashing(sized(8, 4), kCrashSoon);
  checker_.learn(*api_);
  ::kill(apiserver_pid(), SIGKILL);
  EXPECT_TRUE(wait_more_starts(sized(10, 5), 90s));
  const auto verdict = checker_.check(starts_.read());
  EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
  Figures("node_without_apiserver")
      .add("starts", verdict.starts)
      .add("wrong", static_cast<int>(verdict.problems.size()));
  restart_apiserver();
  // The agent continues when the API server is back.
  create(gpu_pod("after", {{"gpu-fraction", "0.5"}}));
  EXPECT_TRUE(eventually(90s, [&] { return states()["after"].all_running(); }));
  expect_all_starts_right();
}

TEST_F(NodeRestartTest, KnowsItsGrantsAfterItsOwnRestartWithoutTheApiServer) {
  start_crashing(4, kCrashSoon);
  checker_.learn(*api_);
  ::kill(apiserver_pid(), SIGKILL);
  node_.kill("tangram-node");
  node_.start("tangram-node", agent_arguments());
  EXPECT_TRUE(wait_more_starts(3, 90s));
  const auto verdict = checker_.check(starts_.read());
  EXPECT_TRUE(verdict.problems.empty()) << verdict.summary();
  Figures("node_restarted_without_apiserver")
      .add("starts", verdict.starts)
      .add("wrong", static_cast<int>(verdict.problems.size()));
  restart_apiserver();
}

}  // namespace
}  // namespace tangram::e2e
