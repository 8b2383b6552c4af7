#include "bench/replay/consolidation.hpp"

#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

/// Pods are placed one by one, each on a given node.
class ConsolidationTest : public ::testing::Test {
 protected:
  void cluster(const std::vector<int>& devices) {
    trace_ = cluster_of(devices);
    scheduler_ = *InProcessScheduler::create(trace_.nodes, "binpack", {});
  }
  void put(int gpus, std::int64_t milli, std::size_t node) {
    pods_.push_back(pod_of(gpus, milli));
    const auto placed = scheduler_->place(pods_.size() - 1, pods_.back(), {node});
    ASSERT_TRUE(placed && *placed);
  }
  MovePlanner::Plan plan_for(const TracePod& waiting, std::size_t most = 100) {
    const auto snapshot = scheduler_->snapshot();
    return make_consolidation(trace_, *scheduler_)
        ->plan({.cluster = *snapshot,
                .waiting = {&waiting},
                .movable = [this](PodNumber number) { return &pods_[number]; },
                .most = most});
  }

  Trace trace_;
  std::unique_ptr<InProcessScheduler> scheduler_;
  std::vector<TracePod> pods_;
};

TEST_F(ConsolidationTest, MovesThePodOfTheLightestNode) {
  cluster({1, 1, 1});
  put(1, 600, 0);
  put(1, 300, 1);
  put(1, 500, 2);
  const auto plan = plan_for(pod_of(1, 1000));
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].number, 1U);
  EXPECT_EQ(plan.moves[0].to, (Placed{.node = 0, .gpus = {0}}));  // the fullest that has room
  ASSERT_EQ(plan.beneficiaries.size(), 1U);
  EXPECT_EQ(plan.beneficiaries[0].to, (Placed{.node = 1, .gpus = {0}}));
}

TEST_F(ConsolidationTest, OnlyAsManyLeaveAsMustTheYoungestFirst) {
  cluster({2, 1});
  put(1, 600, 0);
  put(1, 500, 0);  // on the other card
  put(1, 200, 1);
  const auto plan = plan_for(pod_of(1, 1000));
  ASSERT_EQ(plan.moves.size(), 1U);  // n1 is lighter; its pod fits beside the 600 or the 500
  EXPECT_EQ(plan.moves[0].number, 2U);
}

TEST_F(ConsolidationTest, DoesNothingUnlessAllThatLeaveFindAPlace) {
  cluster({1, 1});
  put(1, 600, 0);
  put(1, 500, 1);
  EXPECT_TRUE(plan_for(pod_of(1, 1000)).moves.empty());
}

TEST_F(ConsolidationTest, MovesNoMoreThanAllowed) {
  cluster({2, 1, 1});
  put(1, 400, 0);
  put(1, 700, 0);
  put(1, 600, 1);
  put(1, 250, 2);
  put(1, 300, 2);
  // n2 would be empty if its two pods left; n0 if its 400 went to n1.
  const auto plan = plan_for(pod_of(2, 1000), 1);
  EXPECT_TRUE(plan.moves.empty());
}

}  // namespace
}  // namespace tangram::bench
