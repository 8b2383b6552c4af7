#include "bench/replay/checker.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace tangram::bench {
namespace {

TracePod pod(int gpus, std::int64_t milli, std::int64_t cpu = 1000, std::int64_t mib = 1000) {
  return {.name = "p",
          .cpu_milli = cpu,
          .memory_mib = mib,
          .gpus = gpus,
          .gpu_milli = milli,
          .models = {}};
}

TracePod picky(std::vector<std::string> models) {
  TracePod made = pod(1, 500);
  made.models = std::move(models);
  return made;
}

/// Node 0: two T4; node 1: one A100, nearly no CPU; node 2: no device.
std::vector<TraceNode> nodes() {
  return {{.name = "a", .cpu_milli = 4000, .memory_mib = 4000, .gpus = 2, .model = "T4"},
          {.name = "b", .cpu_milli = 1000, .memory_mib = 2000, .gpus = 1, .model = "A100"},
          {.name = "c", .cpu_milli = 8000, .memory_mib = 8000, .gpus = 0, .model = ""}};
}

struct Row {
  std::string name;
  TracePod pod;
  std::optional<Placed> placed;
  std::string complaint;  ///< a part of it; empty = allowed
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class PlacementCheckerTest : public ::testing::TestWithParam<Row> {
 protected:
  /// A cluster on which device 0 of node 0 has 400 milli left.
  PlacementCheckerTest() : nodes_(nodes()), checker_(nodes_) {
    EXPECT_FALSE(checker_.record(pod(1, 600), Placed{.node = 0, .gpus = {0}}));
  }

  std::vector<TraceNode> nodes_;
  PlacementChecker checker_;
};

TEST_P(PlacementCheckerTest, AllowsWhatTheRulesAllowAndNothingElse) {
  const Row& row = GetParam();
  const auto complaint = checker_.record(row.pod, row.placed);
  if (row.complaint.empty()) {
    EXPECT_FALSE(complaint.has_value()) << *complaint;
    return;
  }
  ASSERT_TRUE(complaint.has_value());
  EXPECT_NE(complaint->find(row.complaint), std::string::npos) << *complaint;
  // Nothing of it was counted: what fitted before still does.
  EXPECT_EQ(checker_.allocated_milli(), 600);
  EXPECT_FALSE(checker_.record(pod(1, 400), Placed{.node = 0, .gpus = {0}}));
  EXPECT_FALSE(checker_.record(pod(1, 1000), Placed{.node = 1, .gpus = {0}}));
}

INSTANTIATE_TEST_SUITE_P(
    Placements, PlacementCheckerTest,
    ::testing::Values(
        Row{"ExactRemainder", pod(1, 400), Placed{.node = 0, .gpus = {0}}, ""},
        Row{"OneMilliTooMany", pod(1, 401), Placed{.node = 0, .gpus = {0}}, "400 are free"},
        Row{"WholeDeviceThatIsIdle", pod(1, 1000), Placed{.node = 0, .gpus = {1}}, ""},
        Row{"WholeDeviceThatIsShared", pod(1, 1000), Placed{.node = 0, .gpus = {0}},
            "400 are free"},
        Row{"TwoDevicesOneShared", pod(2, 1000), Placed{.node = 0, .gpus = {0, 1}}, "device 0"},
        Row{"SameDeviceTwice", pod(2, 1000), Placed{.node = 0, .gpus = {1, 1}}, "twice"},
        Row{"TooFewDevices", pod(2, 1000), Placed{.node = 0, .gpus = {1}},
            "got 1 devices, requested 2"},
        Row{"DeviceForACpuPod", pod(0, 0), Placed{.node = 0, .gpus = {1}},
            "got 1 devices, requested 0"},
        Row{"UnknownDevice", pod(1, 500), Placed{.node = 0, .gpus = {2}}, "does not exist"},
        Row{"UnknownNode", pod(1, 500), Placed{.node = 3, .gpus = {0}}, "does not exist"},
        Row{"AcceptedModel", picky({"V100", "T4"}), Placed{.node = 0, .gpus = {1}}, ""},
        Row{"RefusedModel", picky({"A100", "T40"}), Placed{.node = 0, .gpus = {1}}, "model T4"},
        Row{"TooMuchCpu", pod(0, 0, 3001), Placed{.node = 0, .gpus = {}}, "3000 are free"},
        Row{"TooMuchMemory", pod(0, 0, 0, 3001), Placed{.node = 0, .gpus = {}}, "3000 are free"},
        Row{"LeftOutThoughItFits", pod(1, 1000), std::nullopt, "fits node a"},
        Row{"LeftOutThoughARareModelFits", picky({"A100"}), std::nullopt, "fits node b"},
        Row{"LeftOutCpuPodThoughItFits", pod(0, 0, 8000), std::nullopt, "fits node c"},
        Row{"LeftOutForWantOfTwoIdleDevices", pod(2, 1000), std::nullopt, ""},
        Row{"LeftOutForWantOfCpu", pod(1, 1000, 3001), std::nullopt, ""}),
    [](const auto& row) { return row.param.name; });

TEST(JudgeFeasibleTest, NamesNodesWithCpuAndMemoryInOrderAndLooksAtNoDevice) {
  const auto all = nodes();
  const PlacementChecker checker(all);
  EXPECT_EQ(checker.feasible(pod(8, 1000, 1000, 2000)), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(checker.feasible(pod(0, 0, 4000, 4001)), (std::vector<std::size_t>{2}));
  EXPECT_TRUE(checker.feasible(pod(0, 0, 8001)).empty());
}

TEST(PlacementCheckerHealthTest, WhatIsBrokenTakesNoPodAndIsNotIdle) {
  const auto some = nodes();
  PlacementChecker checker(some);
  EXPECT_EQ(checker.idle_devices(), 3);
  checker.set_health(0, 1, false);
  EXPECT_EQ(checker.idle_devices(), 2);
  EXPECT_FALSE(checker.fits(0, pod(2, 1000)));
  EXPECT_TRUE(checker.fits(0, pod(1, 1000)));
  EXPECT_EQ(checker.record(pod(1, 500), Placed{.node = 0, .gpus = {1}}),
            "on node a: got device 1, which is broken");
  checker.set_health(0, false);
  EXPECT_EQ(checker.idle_devices(), 1);
  EXPECT_EQ(checker.record(pod(0, 0), Placed{.node = 0, .gpus = {}}),
            "on node a: the node is broken");
  EXPECT_EQ(checker.feasible(pod(0, 0)), (std::vector<std::size_t>{1, 2}));
  checker.set_health(0, true);
  checker.set_health(0, 1, true);
  EXPECT_TRUE(checker.fits(0, pod(2, 1000)));
}

TEST(PlacementCheckerRoomTest, CountsHowManyEqualPodsANodeTakes) {
  const auto some = nodes();
  PlacementChecker checker(some);
  EXPECT_FALSE(checker.record(pod(1, 300, 500, 0), Placed{.node = 0, .gpus = {0}}));
  EXPECT_EQ(checker.room_for(0, pod(1, 300, 1, 1)), 2 + 3);
  EXPECT_EQ(checker.room_for(0, pod(1, 1000, 1, 1)), 1);
  EXPECT_EQ(checker.room_for(0, pod(2, 1000, 1, 1)), 0);
  EXPECT_EQ(checker.room_for(0, pod(1, 300, 1000, 1)), 3);  // 3500 milli-CPU are free
  EXPECT_EQ(checker.room_for(2, pod(0, 0, 1, 4000)), 2);
}

}  // namespace
}  // namespace tangram::bench
