#include "policies/cutting_stock.hpp"

#include "policies/fill.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tangram::policies {
namespace {

TEST(CuttingStockTest, WithoutDemandARestIsWorthItsSize) {
  const RestValues values = rest_values({});
  ASSERT_EQ(values.size(), 1001U);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[250], kFull / 4);
  EXPECT_EQ(values[1000], kFull);
}

TEST(CuttingStockTest, ARestThatNothingCanBeCutFromIsWorthNothing) {
  const RestValues values = rest_values({{.size = 810, .count = 10}});
  EXPECT_EQ(values[190], 0);
  EXPECT_EQ(values[809], 0);
  EXPECT_EQ(values[810], kFull);
}

TEST(CuttingStockTest, PiecesThatFillACardShareItsWorth) {
  const RestValues values = rest_values({{.size = 500, .count = 7}, {.size = 250, .count = 4}});
  EXPECT_EQ(values[500], kFull / 2);
  EXPECT_EQ(values[250], kFull / 4);
  EXPECT_EQ(values[749], kFull / 2);
}

TEST(CuttingStockTest, ASizeThatIsRareBesideItsRestsIsWorthNothing) {
  // Ten cards are opened for the 800s anyway; the only 200 goes beside one of them.
  const RestValues values = rest_values({{.size = 800, .count = 10}, {.size = 200, .count = 1}});
  EXPECT_EQ(values[200], 0);
  EXPECT_EQ(values[800], kFull);
}

TEST(CuttingStockTest, ValuesNeverFallAndTheOrderOfTheDemandDoesNotMatter) {
  std::vector<CutDemand> demand{{.size = 810, .count = 1407}, {.size = 470, .count = 996},
                                {.size = 320, .count = 433},  {.size = 650, .count = 344},
                                {.size = 230, .count = 187},  {.size = 160, .count = 90}};
  const RestValues values = rest_values(demand);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_EQ(values[1000], kFull);
  std::reverse(demand.begin(), demand.end());
  EXPECT_EQ(rest_values(demand), values);
}

TEST(CuttingStockTest, TakesTheMostFrequentOfTooManySizes) {
  std::vector<CutDemand> demand;
  for (std::size_t size = 100; size < 900; ++size) demand.push_back({.size = size, .count = 1});
  demand.push_back({.size = 950, .count = 100});
  const RestValues values = rest_values(demand);
  EXPECT_EQ(values[949] < kFull, true);
  EXPECT_EQ(values[950], kFull);
}

}  // namespace
}  // namespace tangram::policies
