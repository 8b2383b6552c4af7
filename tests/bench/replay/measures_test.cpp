#include "bench/replay/move_planner.hpp"
#include "bench/replay/timeline.hpp"
#include "bench/replay/waits.hpp"
#include "bench/replay/work.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

TEST(WaitsTest, PercentilesAreValuesByNearestRank) {
  const std::vector<std::int64_t> five{10, 20, 30, 40, 50};
  EXPECT_EQ(percentile(five, 0), 10);
  EXPECT_EQ(percentile(five, 20), 10);  // one of five is 20 %
  EXPECT_EQ(percentile(five, 21), 20);
  EXPECT_EQ(percentile(five, 50), 30);
  EXPECT_EQ(percentile(five, 99), 50);
  EXPECT_EQ(percentile({}, 50), 0);
  std::vector<std::int64_t> hundred;
  for (int i = 1; i <= 200; ++i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 99), 198);
}

TEST(WaitsTest, StatisticsAreInSeconds) {
  const WaitStatistics statistics = statistics_of({9'000, 0, 3'000});
  EXPECT_EQ(statistics.pods, 3U);
  EXPECT_DOUBLE_EQ(statistics.mean, 4);
  EXPECT_DOUBLE_EQ(statistics.p50, 3);
  EXPECT_DOUBLE_EQ(statistics.p99, 9);
  EXPECT_EQ(statistics_of({}).pods, 0U);
}

TEST(WaitsTest, ClassesAreOfTheRequestUnlessUrgent) {
  EXPECT_EQ(class_of(pod_of(1, 999)), PodClass::kSharing);
  EXPECT_EQ(class_of(pod_of(1, 1000)), PodClass::kWholeCard);
  EXPECT_EQ(class_of(pod_of(2, 1000)), PodClass::kMultiCard);
  EXPECT_EQ(class_of(pod_of(0, 0)), PodClass::kCpuOnly);
  EXPECT_EQ(class_of(urgent(pod_of(2, 1000), 0, 1).pod), PodClass::kUrgent);
}

TEST(TimelineTest, MeansAreOverTimeWithoutTheFirstQuarter) {
  Timeline timeline(400, 4);
  const auto level = [](std::int64_t milli) {
    Levels<std::int64_t> levels{.allocated_milli = milli};
    levels.waiting[1] = 2 * milli;
    return levels;
  };
  timeline.pass(150, level(10));
  timeline.pass(150, level(99));  // for no time
  timeline.pass(250, level(20));
  timeline.pass(500, level(30));  // ends at 400
  // From 100: 50 x 10, 100 x 20, 150 x 30.
  EXPECT_DOUBLE_EQ(timeline.mean().allocated_milli, 7000.0 / 300);
  EXPECT_DOUBLE_EQ(timeline.mean().waiting[1], 14000.0 / 300);
  const auto series = timeline.series();
  ASSERT_EQ(series.size(), 4U);
  EXPECT_DOUBLE_EQ(series[0].allocated_milli, 10);
  EXPECT_DOUBLE_EQ(series[1].allocated_milli, 15);
  EXPECT_DOUBLE_EQ(series[2].allocated_milli, 25);
  EXPECT_DOUBLE_EQ(series[3].allocated_milli, 30);
}

TEST(WorkTest, AFirstStartCostsNothing) {
  Work work(100);
  EXPECT_EQ(work.start(1'000, {.delay = 7}), 1'100);
  work.finish();
  EXPECT_EQ(work.overhead(), 0);
}

TEST(WorkTest, ARestartCostsItsDelayAndKeepsTheWork) {
  Work work(100);
  const RestartCost cost{.delay = 7, .loses_work = false};
  work.start(1'000, cost);
  work.stop(1'060, cost);
  EXPECT_EQ(work.start(1'500, cost), 1'547);  // 40 are left
  work.finish();
  EXPECT_EQ(work.overhead(), 7);
}

TEST(WorkTest, AnotherStopWithinTheDelayLosesNoWork) {
  Work work(100);
  const RestartCost cost{.delay = 7, .loses_work = false};
  work.start(0, cost);
  work.stop(60, cost);
  work.start(60, cost);
  work.stop(63, cost);
  EXPECT_EQ(work.start(63, cost), 63 + 7 + 40);
  work.finish();
  EXPECT_EQ(work.overhead(), 3 + 7);
}

TEST(WorkTest, LostWorkIsDoneAgain) {
  Work work(100);
  const RestartCost cost{.delay = 7, .loses_work = true};
  work.start(0, cost);
  work.stop(60, cost);
  EXPECT_EQ(work.start(60, cost), 60 + 7 + 100);
  work.stop(60 + 7 + 30, cost);
  EXPECT_EQ(work.start(97, cost), 97 + 7 + 100);
  work.finish();
  EXPECT_EQ(work.overhead(), 60 + 7 + 30 + 7);
}

TEST(MoveBudgetTest, IsAPartOfTheRunningPodsInAnyHour) {
  MoveBudget budget(1);
  EXPECT_EQ(budget.left(0, 250), 2U);
  EXPECT_EQ(budget.left(0, 99), 0U);
  budget.spend(1'000, 2);
  EXPECT_EQ(budget.left(2'000, 250), 0U);
  EXPECT_EQ(budget.left(2'000, 300), 1U);
  EXPECT_EQ(budget.left(3'600'999, 250), 0U);
  EXPECT_EQ(budget.left(3'601'000, 250), 2U);
}

}  // namespace
}  // namespace tangram::bench
