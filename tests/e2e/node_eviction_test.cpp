// A pod that can never start on its node is evicted, and its controller's replacement starts.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

class NodeEvictionTest : public NodeTest {
 protected:
  void bind(const std::string& pod) {
    cluster_.create("/api/v1/namespaces/default/pods/" + pod + "/binding",
                    R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + pod +
                        R"("},"target":{"apiVersion":"v1","kind":"Node","name":")" +
                        RealNode::kName + "\"}}");
  }

  void start_evicting() {
    use_extender("extender-evicting", {"eviction.after_s=10", "eviction.per_minute=60"});
  }

  void TearDown() override { remove_replica_sets(); }
};

TEST_F(NodeEvictionTest, AReplacementStartsForAPodThatNeverCan) {
  start_evicting();
  // Bound without Tangram, as by another scheduler: with a slot, without a grant.
  NodePod pod = gpu_pod("", {{"gpu-fraction", "0.25"}});
  pod.scheduler = "nobody";
  create_replica_set("work", 3, pod);
  ASSERT_TRUE(eventually(30s, [&] { return states().size() == 3; }));
  const auto first = states();
  for (const auto& [name, state] : first) bind(name);
  // The controller's next pods use Tangram's scheduler again.
  cluster_.patch("/apis/apps/v1/namespaces/default/replicasets/work",
                 R"({"spec":{"template":{"spec":{"schedulerName":"tangram"}}}})");
  const auto begin = TimePoint::clock::now();
  EXPECT_TRUE(eventually(120s, [&] {
    const auto now = states();
    return std::ranges::count_if(now, [&](const auto& entry) {
             return !first.contains(entry.first) && entry.second.all_running();
           }) == 3;
  }));
  starts_.read();
  for (const auto& [name, state] : first) EXPECT_TRUE(starts_.of(state.uid).empty()) << name;
  expect_all_starts_right();
  Figures("node_eviction")
      .add("evicted", 3)
      .add("seconds", seconds_between(begin, TimePoint::clock::now()))
      .add("after_s", 10);
}

TEST_F(NodeEvictionTest, WordsOfTheAgentInAnImagesNameEvictNothing) {
  start_evicting();
  NodePod forged = gpu_pod("", {{"gpu-fraction", "0.25"}});
  forged.containers.front().image = "registry.example/a:tangram: cannot start: no such card";
  create_replica_set("forged", 1, forged);
  const auto says_so = [&](const PodState& pod) {
    const auto main = pod.containers.find("main");
    return main != pod.containers.end() &&
           main->second.message.find("tangram: cannot start: ") != std::string::npos;
  };
  ASSERT_TRUE(eventually(60s, [&] {
    const auto now = states();
    return now.size() == 1 && says_so(now.begin()->second);
  })) << describe(states().begin()->second);
  const auto [forged_name, forged_state] = *states().begin();

  // Evicted later, by the same extender.
  NodePod pod = gpu_pod("", {{"gpu-fraction", "0.25"}});
  pod.scheduler = "nobody";
  create_replica_set("work", 1, pod);
  ASSERT_TRUE(eventually(30s, [&] { return states().size() == 2; }));
  std::string stuck;
  for (const auto& [name, state] : states()) {
    if (name != forged_name) stuck = name;
  }
  bind(stuck);
  EXPECT_TRUE(eventually(120s, [&] { return !states().contains(stuck); }));
  EXPECT_EQ(states()[forged_name].uid, forged_state.uid);
}

}  // namespace
}  // namespace tangram::e2e
