#include "bench/replay/consolidation.hpp"
#include "bench/replay/service_moves.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

/// Pods are placed one by one, each on a given node.
class MovePlannersTest : public ::testing::Test {
 protected:
  void cluster(const std::vector<int>& devices) {
    trace_ = cluster_of(devices);
    scheduler_ = *InProcessScheduler::create(trace_.nodes, "binpack", {});
    consolidation_ = make_consolidation(trace_, *scheduler_);
    service_ = make_service_moves(trace_, *scheduler_);
  }
  void put(int gpus, std::int64_t milli, std::size_t node) {
    pods_.push_back(pod_of(gpus, milli));
    const auto placed = scheduler_->place(pods_.size() - 1, pods_.back(), {node});
    ASSERT_TRUE(placed && *placed);
  }
  MovePlanner::Plan plan_of(MovePlanner& planner, const TracePod& waiting, std::size_t most = 100) {
    const auto snapshot = scheduler_->snapshot();
    return planner.plan(
        {.cluster = *snapshot,
         .waiting = {&waiting},
         .movable =
             [this](PodNumber number) { return number == fixed_ ? nullptr : &pods_[number]; },
         .most = most});
  }

  Trace trace_;
  std::unique_ptr<InProcessScheduler> scheduler_;
  std::unique_ptr<MovePlanner> consolidation_;
  std::unique_ptr<MovePlanner> service_;
  std::vector<TracePod> pods_;
  std::optional<PodNumber> fixed_;  ///< may not be moved
};

TEST_F(MovePlannersTest, MoveTheOnePodThatMakesRoom) {
  cluster({1, 1, 1});
  put(1, 600, 0);
  put(1, 300, 1);
  put(1, 500, 2);
  const TracePod whole = pod_of(1, 1000);
  for (MovePlanner* planner : {consolidation_.get(), service_.get()}) {
    const auto plan = plan_of(*planner, whole);
    ASSERT_EQ(plan.moves.size(), 1U);
    EXPECT_EQ(plan.moves[0].number, 1U);
    EXPECT_EQ(plan.moves[0].to, (Placed{.node = 0, .gpus = {0}}));  // the fullest that has room
    ASSERT_EQ(plan.beneficiaries.size(), 1U);
    EXPECT_EQ(plan.beneficiaries[0].waiting, 0U);
    EXPECT_EQ(plan.beneficiaries[0].to, (Placed{.node = 1, .gpus = {0}}));
  }
}

TEST_F(MovePlannersTest, DoNothingUnlessAllThatLeaveFindAPlace) {
  cluster({1, 1});
  put(1, 600, 0);
  put(1, 500, 1);
  const TracePod whole = pod_of(1, 1000);
  EXPECT_TRUE(plan_of(*consolidation_, whole).moves.empty());
  EXPECT_TRUE(plan_of(*service_, whole).moves.empty());
}

TEST_F(MovePlannersTest, LeavePodsThatMayNotMove) {
  cluster({1, 1});
  put(1, 600, 0);
  put(1, 300, 1);
  const TracePod whole = pod_of(1, 1000);
  fixed_ = 1;
  for (MovePlanner* planner : {consolidation_.get(), service_.get()}) {
    const auto plan = plan_of(*planner, whole);
    ASSERT_EQ(plan.moves.size(), 1U);
    EXPECT_EQ(plan.moves[0].number, 0U);
  }
}

TEST_F(MovePlannersTest, MoveNoMoreThanAllowed) {
  cluster({2, 1, 1});
  put(1, 700, 0);
  put(1, 400, 0);
  put(1, 600, 1);
  put(1, 300, 2);
  // Both pods of n0 fit elsewhere: the 700 on n2, the 400 on n1.
  const TracePod pair = pod_of(2, 1000);
  for (MovePlanner* planner : {consolidation_.get(), service_.get()}) {
    EXPECT_TRUE(plan_of(*planner, pair, 1).moves.empty());
    EXPECT_EQ(plan_of(*planner, pair, 2).moves.size(), 2U);
  }
}

TEST_F(MovePlannersTest, ConsolidationBeginsWithTheLightestNodeAndTheYoungestPod) {
  cluster({2, 1});
  put(1, 600, 0);
  put(1, 500, 0);  // on the other card
  put(1, 400, 1);
  const auto plan = plan_of(*consolidation_, pod_of(1, 1000));
  ASSERT_EQ(plan.moves.size(), 1U);  // n1 has 400 of 1000, n0 550
  EXPECT_EQ(plan.moves[0].number, 2U);
}

}  // namespace
}  // namespace tangram::bench
