#include "bench/replay/sampling.hpp"

#include "tests/bench/replay/placing_scheduler.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace tangram::bench {
namespace {

TEST(NodesToFindTest, IsKubeSchedulersRule) {
  EXPECT_EQ(nodes_to_find(1000, 100), 1000U);
  EXPECT_EQ(nodes_to_find(99, 10), 99U);
  EXPECT_EQ(nodes_to_find(1000, 30), 300U);
  EXPECT_EQ(nodes_to_find(500, 10), 100U) << "at least 100";
  EXPECT_EQ(nodes_to_find(1000, 0), 420U) << "50 less one for each 125 nodes";
  EXPECT_EQ(nodes_to_find(5000, 0), 500U);
  EXPECT_EQ(nodes_to_find(6000, 0), 300U) << "at least 5 percent";
}

/// Only one node takes pods; remembers what it was shown.
class OneNode : public PlacingScheduler {
 public:
  explicit OneNode(std::size_t node) : node_(node) {}
  Result<std::optional<Placed>> place(PodNumber, const TracePod&,
                                      const std::vector<std::size_t>& feasible) override {
    shown.push_back(feasible);
    const bool there = std::find(feasible.begin(), feasible.end(), node_) != feasible.end();
    return there ? std::optional(Placed{.node = node_, .gpus = {}}) : std::nullopt;
  }

  std::vector<std::vector<std::size_t>> shown;

 private:
  std::size_t node_;
};

std::vector<std::size_t> from_to(std::size_t first, std::size_t end) {
  std::vector<std::size_t> nodes(end - first);
  std::iota(nodes.begin(), nodes.end(), first);
  return nodes;
}

/// A cluster whose nodes have so many devices, before a scheduler that is shown some of them.
struct Sampled {
  Sampled(const std::vector<int>& devices, std::size_t taking_node, int percent)
      : trace(cluster_of(devices)), scheduler(make(taking_node), trace.nodes, percent) {}

  std::unique_ptr<OneNode> make(std::size_t taking_node) {
    auto made = std::make_unique<OneNode>(taking_node);
    inner = made.get();
    return made;
  }

  Trace trace;
  OneNode* inner = nullptr;
  SampledScheduler scheduler;
};

TEST(SampledSchedulerTest, GoesOnWhereItStopped) {
  Sampled sampled(std::vector<int>(300, 1), 210, 40);
  const auto placed = sampled.scheduler.place(0, pod_of(1, 500), from_to(0, 300));
  ASSERT_TRUE(placed && *placed);
  EXPECT_EQ((*placed)->node, 210U);
  ASSERT_EQ(sampled.inner->shown.size(), 2U);
  EXPECT_EQ(sampled.inner->shown[0], from_to(0, 120));
  EXPECT_EQ(sampled.inner->shown[1], from_to(120, 240));
  ASSERT_TRUE(sampled.scheduler.place(1, pod_of(1, 500), from_to(0, 300)));
  std::vector<std::size_t> around = from_to(0, 60);
  const std::vector<std::size_t> last = from_to(240, 300);
  around.insert(around.end(), last.begin(), last.end());
  EXPECT_EQ(sampled.inner->shown[2], around) << "in the order given, which breaks ties";
}

TEST(SampledSchedulerTest, APodThatFitsNowhereSeesAllNodes) {
  Sampled sampled(std::vector<int>(250, 1), 1000, 1);
  const auto placed = sampled.scheduler.place(0, pod_of(1, 500), from_to(0, 250));
  ASSERT_TRUE(placed);
  EXPECT_FALSE(*placed);
  std::set<std::size_t> seen;
  for (const auto& nodes : sampled.inner->shown) seen.insert(nodes.begin(), nodes.end());
  EXPECT_EQ(seen.size(), 250U);
}

TEST(SampledSchedulerTest, PodsWithDevicesAreShownNodesWithDevices) {
  std::vector<int> devices(200, 0);
  devices[150] = 1;
  Sampled sampled(devices, 150, 1);
  ASSERT_TRUE(sampled.scheduler.place(0, pod_of(1, 500), from_to(0, 200)));
  EXPECT_EQ(sampled.inner->shown, (std::vector<std::vector<std::size_t>>{{150}}));
  ASSERT_TRUE(sampled.scheduler.place(1, pod_of(0, 0), {3, 4}));
  EXPECT_EQ(sampled.inner->shown[1], (std::vector<std::size_t>{3, 4}));
  ASSERT_TRUE(sampled.scheduler.place(2, pod_of(1, 500), {}));
  EXPECT_EQ(sampled.inner->shown.size(), 3U) << "asked once, though no node is left";
}

}  // namespace
}  // namespace tangram::bench
