#include "base/clock.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

TEST(ClockTest, WritesKubernetesTimes) {
  const WallTime time = WallTime(seconds(1'795'176'000)) + 123'456us;
  EXPECT_EQ(rfc3339(time), "2026-11-20T12:00:00Z");
  EXPECT_EQ(rfc3339_micro(time), "2026-11-20T12:00:00.123456Z");
}

TEST(ClockTest, PadsMicroseconds) {
  EXPECT_EQ(rfc3339_micro(WallTime(7us)), "1970-01-01T00:00:00.000007Z");
}

TEST(ClockTest, RoundsDownBeforeTheEpochToo) {
  EXPECT_EQ(rfc3339(WallTime(-1us)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_micro(WallTime(-1us)), "1969-12-31T23:59:59.999999Z");
}

TEST(ClockTest, KnowsLeapDays) {
  EXPECT_EQ(rfc3339(WallTime(seconds(1'709'164'800))), "2024-02-29T00:00:00Z");
}

TEST(ClockTest, WritesUtcInEveryTimeZone) {
  // NOLINTBEGIN(concurrency-mt-unsafe): alone
  ASSERT_EQ(setenv("TZ", "EST5", 1), 0);
  tzset();
  const std::string seconds_text = rfc3339(WallTime(seconds(1'795'176'000)));
  const std::string micros_text = rfc3339_micro(WallTime(seconds(1'795'176'000)));
  ASSERT_EQ(unsetenv("TZ"), 0);
  // NOLINTEND(concurrency-mt-unsafe)
  tzset();
  EXPECT_EQ(seconds_text, "2026-11-20T12:00:00Z");
  EXPECT_EQ(micros_text, "2026-11-20T12:00:00.000000Z");
}

TEST(ClockTest, SystemClockNeverGoesBack) {
  const SystemClock clock;
  const TimePoint before = clock.now();
  EXPECT_GE(clock.now(), before);
  EXPECT_GT(clock.wall(), WallTime(seconds(1'700'000'000)));
}

TEST(ClockTest, ManualClockMovesOnlyByHand) {
  testing::ManualClock clock;
  const TimePoint before = clock.now();
  EXPECT_EQ(clock.now(), before);
  clock.advance(1500ms);
  EXPECT_EQ(clock.now() - before, 1500ms);
  EXPECT_EQ(rfc3339_micro(clock.wall()), "2026-01-01T00:00:01.500000Z");
}

}  // namespace
}  // namespace tangram
