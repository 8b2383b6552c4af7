#include "cluster/pod_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

namespace tangram::cluster {
namespace {

TEST(PodTableGrowthTest, RetainsWhilePodsAreAdded) {
  constexpr int kPods = 20'000;
  PodTable pods;
  for (int i = 0; i < kPods; ++i) {
    pods.add("old" + std::to_string(i));
    pods.add("kept" + std::to_string(i));
  }
  std::jthread adder([&] {
    for (int i = 0; i < kPods; ++i) pods.add("new" + std::to_string(i));
  });
  const auto gone = pods.retain([](const std::string& uid) { return !uid.starts_with("old"); });
  adder.join();
  EXPECT_EQ(gone.size(), kPods);
  EXPECT_EQ(std::ranges::adjacent_find(gone), gone.end());
  for (int i = 0; i < kPods; ++i) {
    ASSERT_FALSE(pods.contains("old" + std::to_string(i))) << i;
    ASSERT_TRUE(pods.contains("kept" + std::to_string(i))) << i;
    ASSERT_TRUE(pods.contains("new" + std::to_string(i))) << i;
  }
}

}  // namespace
}  // namespace tangram::cluster
