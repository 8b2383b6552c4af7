// A pod that can never start on its node is evicted, and its controller's replacement starts.

#include "tests/e2e/node_fixture.hpp"

#include <algorithm>

namespace tangram::e2e {
namespace {

class NodeEvictionTest : public NodeTest {
 protected:
  void create_replica_set(const std::string& name, int replicas, NodePod pod) {
    pod.labels["app"] = name;
    cluster_.create("/apis/apps/v1/namespaces/default/replicasets",
                    R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":")" + name +
                        R"("},"spec":{"replicas":)" + std::to_string(replicas) +
                        R"(,"selector":{"matchLabels":{"app":")" + name + R"("}},"template":)" +
                        node_pod_template_json(pod) + "}}");
  }
  void TearDown() override {
    cluster_.remove("/apis/apps/v1/namespaces/default/replicasets");
    remove_pods();
  }
};

TEST_F(NodeEvictionTest, AReplacementStartsForAPodThatNeverCan) {
  extender_.kill();
  ExtenderProcess evicting(
      {.name = "extender-evicting", .settings = {"eviction.after_s=10", "eviction.per_minute=60"}});
  evicting.start_ready();
  scheduler_->kill();
  scheduler_ = start_scheduler({.extender_url = evicting.url()});
  // Bound without Tangram, as by another scheduler: with a slot, without a grant.
  NodePod pod = gpu_pod("", {{"gpu-fraction", "0.25"}});
  pod.scheduler = "nobody";
  create_replica_set("work", 3, pod);
  ASSERT_TRUE(eventually(30s, [&] { return states().size() == 3; }));
  const auto first = states();
  for (const auto& [name, state] : first) {
    cluster_.create("/api/v1/namespaces/default/pods/" + name + "/binding",
                    R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":")" + name +
                        R"("},"target":{"apiVersion":"v1","kind":"Node","name":")" +
                        RealNode::kName + "\"}}");
  }
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

}  // namespace
}  // namespace tangram::e2e
