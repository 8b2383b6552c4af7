#include "bench/replay/failures.hpp"

#include "bench/replay/health.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::bench {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

TEST(FailuresTest, ComeAsOftenAsAskedForAndAreRepaired) {
  // 10 cards that fail every 2 days, 5 nodes that fail every 5 days: 6 failures a day.
  const auto failures =
      failures_of(cluster_of({2, 2, 2, 2, 2}),
                  {.card_days = 2, .node_days = 5, .repair_minutes = 30}, 2'000 * kDayMs);
  const auto cards = std::count_if(failures.begin(), failures.end(),
                                   [](const Failure& failure) { return failure.gpu.has_value(); });
  EXPECT_NEAR(static_cast<double>(cards), 10'000, 400);
  EXPECT_NEAR(static_cast<double>(failures.size()) - static_cast<double>(cards), 2'000, 200);
  EXPECT_TRUE(std::is_sorted(failures.begin(), failures.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
  for (const Failure& failure : failures) EXPECT_EQ(failure.repaired_at, failure.at + 1'800'000);
}

TEST(FailuresTest, ThereAreNoneUnlessAskedFor) {
  EXPECT_TRUE(failures_of(cluster_of({2}), {}, 1'000 * kDayMs).empty());
}

TEST(HealthTest, ADeviceWorksOnceItAndItsNodeAreRepaired) {
  Health health(cluster_of({2}).nodes);
  const Failure device{.node = 0, .gpu = 1};
  const Failure node{.node = 0, .gpu = {}};
  health.breaks(device);
  EXPECT_EQ(health.working_gpus(0), (std::vector<bool>{true, false}));
  health.breaks(node);
  EXPECT_FALSE(health.node_works(0));
  EXPECT_EQ(health.working_gpus(0), (std::vector<bool>{false, false}));
  health.is_repaired(device);
  EXPECT_EQ(health.working_gpus(0), (std::vector<bool>{false, false}));
  health.is_repaired(node);
  EXPECT_EQ(health.working_gpus(0), (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace tangram::bench
