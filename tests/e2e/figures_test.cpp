#include "tests/e2e/figures.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tangram::e2e {
namespace {

/// The interval of the values 1 to `count`.
MedianInterval interval_of(int count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1);
  return median_interval(values);
}

void expect_interval(int count, double low, double high) {
  const MedianInterval interval = interval_of(count);
  EXPECT_EQ(interval.low, low) << count;
  EXPECT_EQ(interval.high, high) << count;
  EXPECT_EQ(interval.median, (1 + count) / 2.0) << count;
}

// As tables of the sign test have it: below the first number lie at most so many of n fair coins
// with a chance of 2.5 %.
TEST(MedianIntervalTest, IsThatOfTheSignTest) {
  expect_interval(1, 1, 1);
  expect_interval(5, 1, 5);
  expect_interval(6, 1, 6);
  expect_interval(8, 1, 8);
  expect_interval(9, 2, 8);
  expect_interval(12, 3, 10);
  expect_interval(15, 4, 12);
  expect_interval(20, 6, 15);
  expect_interval(25, 8, 18);
}

TEST(MedianIntervalTest, SortsAndTakesNothingForNothing) {
  const MedianInterval interval = median_interval({3, 1, 2});
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.median, 2);
  EXPECT_EQ(interval.high, 3);
  EXPECT_EQ(median_interval({}).median, 0);
}

}  // namespace
}  // namespace tangram::e2e
