// Kubelet, containerd and the agent are killed and restarted while pods start.

#include "tests/e2e/folder_watch.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <array>
#include <fstream>

namespace tangram::e2e {
namespace {

class NodeChaosTest : public NodeTest {
 protected:
  /// Kills a program at a random moment and starts it again at another.
  void disturb(std::mt19937& random) {
    constexpr std::array<const char*, 3> kPrograms = {"kubelet", "tangram-node", "containerd"};
    const std::string program = kPrograms[std::uniform_int_distribution<std::size_t>(0, 2)(random)];
    const auto pause = [&](int most) {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(std::uniform_int_distribution(0, most)(random)));
    };
    pause(1500);
    node_.kill(program);
    ++ended_[program];
    pause(1500);
    node_.start(program,
                program == "tangram-node" ? agent_arguments() : std::vector<std::string>());
    // Kubelet ends if it starts while containerd is down. Restarts it, as an init system would.
    if (node_.pid("kubelet") == 0) node_.start("kubelet");
  }

  /// Kubelet fails pods that arrive while no agent is registered (UnexpectedAdmissionError).
  /// Recreates them, as a controller would. @returns how many
  int replace_refused() {
    int count = 0;
    checker_.learn(*api_);
    for (const auto& [name, pod] : states()) {
      if (pod.phase != "Failed" || pod.reason != "UnexpectedAdmissionError") continue;
      cluster_.delete_pod(name);
      create(wanted_.at(name));
      ++count;
    }
    return count;
  }

  std::map<std::string, NodePod> wanted_;  ///< of this round, by name
  std::map<std::string, int> ended_;
};

TEST_F(NodeChaosTest, NoContainerSeesAWrongCardWhileProgramsDie) {
  const int rounds = sized(20, 1);
  const int pods = sized(40, 20);
  constexpr int kDisturbances = 3;  // of each round
  auto random = seeded_random();
  int wrong = 0;
  int stuck = 0;
  int replaced = 0;
  int starts = 0;
  for (int round = 0; round < rounds; ++round) {
    starts_.forget();
    wanted_.clear();
    for (auto& pod : random_pods(pods, "chaos-" + std::to_string(round), random)) {
      wanted_[pod.name] = pod;
    }
    for (const auto& [name, pod] : wanted_) create(pod);
    for (int i = 0; i < kDisturbances; ++i) {
      disturb(random);
      replaced += replace_refused();
    }
    ASSERT_TRUE(wait_node_offers_slots(60s));
    for (bool settled = false; !settled;) {
      wait_all_settled(180s);
      checker_.learn(*api_);
      const int again = replace_refused();
      replaced += again;
      settled = again == 0;
    }

    for (const auto& [name, pod] : states()) {
      if (pod.all_running()) continue;
      ++stuck;
      ADD_FAILURE() << "round " << round << ": " << name << " is stuck: " << describe(pod);
    }
    checker_.learn(*api_);
    const auto verdict = checker_.check(starts_.read());
    EXPECT_TRUE(verdict.problems.empty()) << "round " << round << ": " << verdict.summary();
    wrong += static_cast<int>(verdict.problems.size());
    starts += verdict.with_gpu;
    expect_books_right();
    remove_pods();
  }
  Figures("node_chaos")
      .add("rounds", rounds)
      .add("pods", rounds * pods)
      .add("kubelet_killed", ended_["kubelet"])
      .add("agent_killed", ended_["tangram-node"])
      .add("containerd_killed", ended_["containerd"])
      .add("gpu_starts", starts)
      .add("wrong", wrong)
      .add("stuck", stuck)
      .add("replaced_after_admission", replaced);
}

/// Whether kubelet's checkpoint has the pod. Then kubelet has received Allocate's answer.
bool is_allocated(const std::filesystem::path& plugins, const std::string& uid) {
  std::ifstream file(plugins / "kubelet_internal_checkpoint");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.find(uid) != std::string::npos;
}

TEST_F(NodeChaosTest, AnAgentKilledBetweenAllocateAndPreStartLosesNothing) {
  const int times = sized(20, 2);
  int before_start = 0;
  for (int i = 0; i < times; ++i) {
    const std::string name = "between-" + std::to_string(i);
    scheduler_->signal(SIGSTOP);  // until the pod's UID is known
    create(gpu_pod(name, {{"gpu-fraction", "0.25"}}));
    const std::string uid = uid_of(name);
    {
      const FolderWatch changes(node_.plugins());
      scheduler_->signal(SIGCONT);
      const auto deadline = TimePoint::clock::now() + 30s;
      while (!is_allocated(node_.plugins(), uid) && TimePoint::clock::now() < deadline) {
        changes.wait(1s);
      }
      node_.kill("tangram-node");
    }
    if (starts_.read(); starts_.of(uid).empty()) ++before_start;
    start_agent();
    EXPECT_TRUE(eventually(90s, [&] { return states()[name].all_running(); })) << name;
    expect_all_starts_right();
    remove_pods();
  }
  Figures("node_agent_killed_after_allocate")
      .add("times", times)
      .add("container_had_not_started", before_start);
  EXPECT_GT(before_start, 0) << "the agent was always too late killed to show anything";
}

}  // namespace
}  // namespace tangram::e2e
