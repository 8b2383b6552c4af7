#include "kube/rate_limiter.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Wait = std::optional<std::chrono::nanoseconds>;

constexpr Wait kAtOnce = milliseconds(0);

TEST(RateLimiterTest, GivesABurstAtOnceThenOneAtATime) {
  const testing::ManualClock clock;
  RateLimiter limiter(10, 3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.reserve(seconds(1)), kAtOnce) << i;
  EXPECT_EQ(limiter.reserve(seconds(1)), Wait(milliseconds(100)));
  EXPECT_EQ(limiter.reserve(seconds(1)), Wait(milliseconds(200)));
}

TEST(RateLimiterTest, RefusalTakesNoToken) {
  const testing::ManualClock clock;
  RateLimiter limiter(10, 1, clock);
  EXPECT_EQ(limiter.reserve(seconds(0)), kAtOnce);
  EXPECT_EQ(limiter.reserve(milliseconds(99)), std::nullopt);
  EXPECT_EQ(limiter.reserve(milliseconds(100)), Wait(milliseconds(100)));
}

TEST(RateLimiterTest, PauseFillsTheBucketButNotBeyondItsSize) {
  testing::ManualClock clock;
  RateLimiter limiter(10, 2, clock);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter.reserve(seconds(0)), kAtOnce);
  clock.advance(milliseconds(100));
  EXPECT_EQ(limiter.reserve(seconds(0)), kAtOnce);
  EXPECT_EQ(limiter.reserve(seconds(0)), std::nullopt);
  clock.advance(seconds(3600));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter.reserve(seconds(0)), kAtOnce);
  EXPECT_EQ(limiter.reserve(seconds(0)), std::nullopt);
}

TEST(RateLimiterTest, ManyThreadsTakeNoMoreThanTheBurst) {
  const testing::ManualClock clock;
  RateLimiter limiter(1, 100, clock);
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          if (limiter.reserve(seconds(0))) ++taken;
        }
      });
    }
  }
  EXPECT_EQ(taken, 100);
}

}  // namespace
}  // namespace tangram::kube
