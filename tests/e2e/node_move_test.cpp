// Pods move to other cards, so that a pod that waits for a whole card runs.

#include "tests/e2e/kubectl.hpp"
#include "tests/e2e/node_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tangram::e2e {
namespace {

constexpr int kWaitedSeconds = 5;

/// Three cards. Two are half full with a pod of a ReplicaSet each, and fit for no whole card. The
/// third is for other pods that come and go all the time.
class NodeMoveTest : public NodeTest {
 protected:
  NodeMoveTest()
      : NodeTest(node_with_cards(RealNode::kName, 3).cards),
        moving_(use_extender("extender-moving",
                             {"defrag.enabled=true", "defrag.moves_per_hour=60",
                              "defrag.waited_s=" + std::to_string(kWaitedSeconds)})) {
    for (const char* name : {"a", "b", "c", "d"}) {
      NodePod pod = gpu_pod("", {{"gpu-fraction", "0.5"}, {"gpu-uuid", "!" + cards_[2].id}});
      create_replica_set(name, 1, pod);
      if (!eventually(60s, [&] { return !running(name).empty(); })) {
        throw std::runtime_error(std::string(name) + " does not run");
      }
    }
    checker_.learn(*api_);
    // a and b share a card, and so do c and d.
    for (const char* name : {"a", "c"}) {
      cluster_.remove(std::string("/apis/apps/v1/namespaces/default/replicasets/") + name);
      cluster_.delete_pod(running(name));
    }
    if (!eventually(60s, [&] { return states().size() == 2; })) {
      throw std::runtime_error("pods do not end");
    }
    load_ = std::jthread([this](const std::stop_token& stop) { make_load(stop); });
  }
  ~NodeMoveTest() override {
    load_ = {};
    remove_replica_sets();
  }

  /// The running pod of the ReplicaSet; "" = there is none.
  std::string running(const std::string& replica_set) {
    for (const auto& [name, state] : states()) {
      if (name.starts_with(replica_set + "-") && state.all_running()) return name;
    }
    return "";
  }
  /// They end when the checker knows them.
  void make_load(const std::stop_token& stop) {
    const auto api = admin_api();
    Cluster cluster(*api);
    for (int i = 0; !stop.stop_requested(); ++i) {
      const std::string name = "load-" + std::to_string(i);
      NodePod pod = gpu_pod(name, {{"gpu-fraction", "0.2"}, {"gpu-uuid", cards_[2].id}});
      cluster.create("/api/v1/namespaces/default/pods", node_pod_json(pod));
      ++loaded_;
      std::this_thread::sleep_for(500ms);  // the rate of the load
      if (i < 3) continue;
      checker_.learn(*api);
      cluster.delete_pod("load-" + std::to_string(i - 3));
    }
  }
  /// With a controller: kubelet rejects a pod that comes while the agent is away.
  void create_whole() {
    create_replica_set("whole", 1,
                       gpu_pod("", {{"gpu-count", "1"}, {"gpu-uuid", "!" + cards_[2].id}}));
  }
  static KubectlAnswer defrag(const std::vector<std::string>& more) {
    std::vector<std::string> words{KUBECTL_TANGRAM, "defrag", "--kubeconfig",
                                   environment().admin_kubeconfig};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }
  /// The pod that waited runs alone on a card, and the others run beside each other.
  void expect_all_run(const std::set<std::string>& before) {
    ASSERT_TRUE(eventually(120s, [&] {
      const auto all = {running("whole"), running("b"), running("d")};
      return std::ranges::none_of(all, [](const auto& pod) { return pod.empty(); });
    })) << agent_log();
    load_ = {};  // it uses the checker
    const std::string b = running("b");
    const std::string d = running("d");
    EXPECT_EQ(card_of(b), card_of(d));
    EXPECT_NE(card_of(running("whole")), card_of(b));
    EXPECT_NE(before.contains(b), before.contains(d)) << "one of them moved";
    expect_all_starts_right();
  }

  ExtenderProcess& moving_;
  std::atomic<int> loaded_{0};
  std::jthread load_;
};

TEST_F(NodeMoveTest, AWaitingPodRunsAndTheMovedOneRunsElsewhere) {
  const std::set<std::string> before{running("b"), running("d")};
  ASSERT_NE(card_of(running("b")), card_of(running("d")));
  const auto begin = TimePoint::clock::now();
  create_whole();
  expect_all_run(before);
  const double seconds = seconds_between(begin, TimePoint::clock::now());
  EXPECT_TRUE(eventually(
      30s, [&] { return moving_.metric("tangram_move_plans_total", "carried_out") == 1; }));
  EXPECT_EQ(moving_.metric("tangram_moves_total", "moved"), 1);
  Figures("node_move")
      .add("waited_s", kWaitedSeconds)
      .add("all_run_s", seconds)
      .add("load_pods", loaded_.load());
}

TEST_F(NodeMoveTest, AnOperatorHasThemMoved) {
  use_extender("extender-on-request", {});
  const std::set<std::string> before{running("b"), running("d")};
  create_whole();
  ASSERT_TRUE(eventually(
      60s, [&] { return defrag({}).text.find("1 pod would move") != std::string::npos; }));
  const auto begin = TimePoint::clock::now();
  const KubectlAnswer done = defrag({"--run", "--timeout", "2m"});
  EXPECT_TRUE(done.done()) << done.text;
  EXPECT_THAT(done.text, ::testing::HasSubstr("1 of 1 pod evicted; room for 1 of 1 waiting pod"));
  Figures("node_move_on_request")
      .add("run_s", seconds_between(begin, TimePoint::clock::now()))
      .add("load_pods", loaded_.load());
  expect_all_run(before);
}

TEST_F(NodeMoveTest, AllRunThoughTheAgentIsKilledMeanwhile) {
  const std::set<std::string> before{running("b"), running("d")};
  const auto begin = TimePoint::clock::now();
  create_whole();
  const auto leaves = [&] {
    const auto now = states();
    return !std::ranges::all_of(before, [&](const auto& name) { return now.contains(name); });
  };
  ASSERT_TRUE(eventually(
      60s, [&] { return moving_.metric("tangram_moves_total", "moved") == 1 || leaves(); }));
  node_.kill("tangram-node");
  start_agent();
  expect_all_run(before);
  Figures("node_move_agent_killed")
      .add("all_run_s", seconds_between(begin, TimePoint::clock::now()))
      .add("load_pods", loaded_.load());
}

}  // namespace
}  // namespace tangram::e2e
