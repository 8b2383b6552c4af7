#include "bench/replay/arrivals.hpp"

#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::bench {
namespace {

Trace two_kinds() {
  Trace trace = cluster_of({1});
  trace.arrivals = {pod_of(1, 500), pod_of(1, 250)};
  return trace;
}

TEST(ArrivalsTest, RequestTheLoadThatWasAskedFor) {
  const auto arrivals =
      arrivals_of(two_kinds(), {.load_percent = 80, .pods = 20'000, .mean_life_minutes = 7});
  ASSERT_EQ(arrivals.size(), 20'000U);
  double requested = 0;
  for (const Arrival& arrival : arrivals) {
    requested += static_cast<double>(arrival.pod.gpu_milli * arrival.lasts) / 1000;
  }
  EXPECT_NEAR(requested / static_cast<double>(arrivals.back().arrives), 0.8, 0.03);
}

TEST(ArrivalsTest, LastForTheHoursThatWereAskedFor) {
  const auto arrivals = arrivals_of(two_kinds(), {.hours = 10'000});
  EXPECT_NEAR(static_cast<double>(arrivals.back().arrives) / 3'600'000, 10'000, 200);
}

TEST(ArrivalsTest, AreEqualForEqualSeedsOnly) {
  const auto once = arrivals_of(two_kinds(), {.seed = 3});
  const auto again = arrivals_of(two_kinds(), {.seed = 3});
  const auto other = arrivals_of(two_kinds(), {.seed = 4});
  ASSERT_EQ(once.size(), 8U);
  EXPECT_EQ(once[5].arrives, again[5].arrives);
  EXPECT_EQ(once[5].lasts, again[5].lasts);
  EXPECT_NE(once[5].arrives, other[5].arrives);
}

TEST(ArrivalsTest, KeepTheTimesAndThePriorityOfTheTrace) {
  Trace trace = two_kinds();
  trace.arrivals[0].arrives_s = 70;
  trace.arrivals[0].lasts_s = 5;
  trace.arrivals[1].arrives_s = 60;
  trace.arrivals[1].priority = 7;
  const auto arrivals = arrivals_of(trace, {});
  ASSERT_EQ(arrivals.size(), 2U);
  EXPECT_EQ(arrivals[0].arrives, 60'000);
  EXPECT_EQ(arrivals[0].pod.priority, 7);
  EXPECT_EQ(arrivals[1].arrives, 70'000);
  EXPECT_EQ(arrivals[1].lasts, 5'000);
}

TEST(ArrivalsTest, AreUrgentAsOftenAsAskedForAtTheSameTimes) {
  const auto plain = arrivals_of(two_kinds(), {.pods = 20'000});
  const auto some = arrivals_of(two_kinds(), {.pods = 20'000, .urgent_percent = 5});
  const auto urgent = std::count_if(some.begin(), some.end(), [](const Arrival& arrival) {
    return arrival.pod.priority == kUrgentPriority;
  });
  EXPECT_NEAR(static_cast<double>(urgent), 1'000, 120);
  EXPECT_EQ(some[1'000].arrives, plain[1'000].arrives);
}

TEST(ArrivalsTest, AreGroupedAsOftenAsAskedFor) {
  const auto arrivals =
      arrivals_of(two_kinds(), {.pods = 20'000, .grouped_percent = 20, .group_size = 4});
  std::size_t members = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    if (arrivals[i].group == 1) continue;
    ASSERT_EQ(arrivals[i].group, 4U);
    for (std::size_t j = i + 1; j < i + 4; ++j) {
      EXPECT_EQ(arrivals[j].group, 0U);
      EXPECT_EQ(arrivals[j].arrives, arrivals[i].arrives);
      EXPECT_EQ(arrivals[j].lasts, arrivals[i].lasts);
      EXPECT_EQ(arrivals[j].pod.gpu_milli, arrivals[i].pod.gpu_milli);
    }
    members += 4;
    i += 3;
  }
  EXPECT_NEAR(static_cast<double>(members), 4'000, 500);
}

}  // namespace
}  // namespace tangram::bench
