// Which running pods survive a kubelet restart.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>
#include <iostream>

namespace tangram::e2e {
namespace {

const std::string kStatus = std::string("/api/v1/nodes/") + RealNode::kName + "/status";

class NodeSurvivalTest : public NodeTest {
 protected:
  struct Count {
    int running = 0;    ///< with the same container as before
    int restarted = 0;  ///< runs, its container was restarted
    int ended = 0;      ///< Failed, or no longer there
  };

  /// Starts pods of each kind that kubelet treats differently. They request aggregates.
  void start_pods(int holding, int crashing) {
    for (int i = 0; i < holding + crashing; ++i) {
      const std::vector<std::string> crash = {"crash", "2000"};
      auto pod = gpu_pod("pod-" + std::to_string(i), {{"gpu-fraction", "0.25"}},
                         i < holding ? std::vector<std::string>{"hold"} : crash);
      // As the admission webhook writes them.
      pod.resources = {{"tangram.dev/gpu-milli", "250"}, {"tangram.dev/gpu-mem-mib", "20480"}};
      create(pod);
    }
    ASSERT_TRUE(eventually(90s, [&] {
      starts_.read();
      return std::ranges::all_of(
          states(), [&](const auto& pod) { return !starts_.of(pod.second.uid).empty(); });
    }));
    before_ = states();
    for (const auto& [name, pod] : before_) starts_before_[pod.uid] = starts_.of(pod.uid).size();
  }

  /// Kubelet restarts and examines every pod again.
  void restart_kubelet() {
    node_.stop("kubelet");
    node_.start("kubelet");
    ASSERT_TRUE(eventually(60s, [&] { return node_ready_since_restart(); }));
    ASSERT_TRUE(wait_node_offers_slots(90s));
  }

  /// A new pod runs, so kubelet has processed all others.
  bool node_ready_since_restart() {
    const std::string name = "probe-" + std::to_string(probes_++);
    create(plain_pod(name));
    return eventually(60s, [&] { return states()[name].all_running(); });
  }

  Count count() {
    Count count;
    const auto now = states();
    starts_.read();
    for (const auto& [name, was] : before_) {
      const auto found = now.find(name);
      if (found == now.end() || found->second.phase == "Failed") {
        ++count.ended;
        if (found != now.end()) {
          std::cout << name << " ended: " << found->second.reason << " " << found->second.message
                    << "\n";
        }
      } else {
        const bool restarted = starts_.of(was.uid).size() > starts_before_[was.uid];
        ++(restarted ? count.restarted : count.running);
      }
    }
    return count;
  }

  /// The pods whose program crashes are not started on their unhealthy cards again.
  void expect_crashing_pods_wait(int holding) {
    for (const auto& [name, pod] : before_) {
      if (std::stoi(name.substr(4)) < holding) continue;
      EXPECT_TRUE(eventually(60s, [&, name = name] {
        return states()[name].containers["main"].message.find("is unhealthy") != std::string::npos;
      })) << name;
    }
  }

  void report(const std::string& name, const Count& count) {
    Figures(name)
        .add("pods", static_cast<int>(before_.size()))
        .add("running", count.running)
        .add("restarted", count.restarted)
        .add("ended", count.ended);
  }

  PodStates before_;
  std::map<std::string, std::size_t> starts_before_;  ///< by UID
  int probes_ = 0;
};

TEST_F(NodeSurvivalTest, NoPodIsLostWhenKubeletRestartsBesideASickCard) {
  const int holding = sized(12, 4);
  start_pods(holding, sized(4, 1));
  for (auto& card : cards_) card.healthy = false;
  node_.write_cards(cards_);
  ASSERT_TRUE(eventually(
      30s, [&] { return cards_published().find(R"("healthy":false)") != std::string::npos; }));
  restart_kubelet();
  expect_crashing_pods_wait(holding);
  const Count after = count();
  report("node_kubelet_restart_sick_cards", after);
  EXPECT_EQ(after.ended, 0);
  EXPECT_GE(after.running, holding);
  expect_all_starts_right();
}

TEST_F(NodeSurvivalTest, CountsWhoSurvivesKubeletAfterTheAggregatesWereZeroed) {
  const int holding = sized(12, 4);
  ASSERT_TRUE(eventually(30s, [&] {
    return cluster_.get(kStatus).find("tangram.dev/gpu-milli") != std::string::npos;
  })) << "the agent publishes no aggregates";
  start_pods(holding, sized(4, 1));
  // A stopped agent cannot repair the status before kubelet reads it.
  node_.signal("tangram-node", SIGSTOP);
  const std::string zero = R"({"tangram.dev/gpu-milli":"0","tangram.dev/gpu-mem-mib":"0"})";
  cluster_.patch(kStatus, R"({"status":{"capacity":)" + zero + R"(,"allocatable":)" + zero + "}}");
  node_.stop("kubelet");
  node_.start("kubelet");
  std::this_thread::sleep_for(5s);  // kubelet decides about its pods before a plugin registers
  node_.signal("tangram-node", SIGCONT);
  ASSERT_TRUE(wait_node_offers_slots(90s));
  EXPECT_TRUE(eventually(60s, [&] {
    return cluster_.get(kStatus).find(R"("tangram.dev/gpu-milli":"8k")") != std::string::npos;
  })) << "the agent does not publish the aggregates again";
  report("node_kubelet_restart_zero_aggregates", count());
  expect_all_starts_right();
}

TEST_F(NodeSurvivalTest, NoContainerSeesAWrongCardAfterThePowerFailed) {
  const int holding = sized(12, 4);
  start_pods(holding, 0);
  node_.lose_power();
  node_.start("containerd");
  node_.start("kubelet");
  start_agent();
  // Kubelet restarts or ends each of them; until then the API server shows the old state.
  EXPECT_TRUE(eventually(180s, [&] {
    starts_.read();
    return std::ranges::all_of(states(), [&](const auto& pod) {
      return pod.second.phase == "Failed" || starts_.of(pod.second.uid).size() > 1;
    });
  }));
  report("node_power_lost", count());
  expect_all_starts_right();
  // The pods that kubelet ended make room, and new pods start.
  create(gpu_pod("after", {{"gpu-fraction", "0.25"}}));
  EXPECT_TRUE(eventually(90s, [&] { return states()["after"].all_running(); }));
  expect_all_starts_right();
}

}  // namespace
}  // namespace tangram::e2e
