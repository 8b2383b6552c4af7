#include "cluster/pod_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <string>
#include <thread>

namespace tangram::cluster {
namespace {

/// One walk over so many pods, while another thread adds twice as many.
/// @returns whether the table grew under the walk
bool retains_while_pods_are_added(int pods) {
  constexpr int kOld = 100;
  PodTable table;
  for (int i = 0; i < kOld; ++i) table.add("old" + std::to_string(i));
  for (int i = kOld; i < pods; ++i) table.add("kept" + std::to_string(i));
  std::latch walking(1);
  std::jthread adder([&] {
    walking.wait();
    for (int i = 0; i < 2 * pods; ++i) table.add("new" + std::to_string(i));
  });
  const std::string one = "kept" + std::to_string(kOld);
  int asked = 0;  // about that one: once more if the walk started over
  const auto gone = table.retain([&](const std::string& uid) {
    if (!walking.try_wait()) walking.count_down();
    if (uid == one) ++asked;
    return !uid.starts_with("old");
  });
  adder.join();
  EXPECT_EQ(gone.size(), kOld);
  EXPECT_EQ(std::ranges::adjacent_find(gone), gone.end());
  for (int i = 0; i < kOld; ++i) EXPECT_FALSE(table.contains("old" + std::to_string(i))) << i;
  for (int i = kOld; i < pods; ++i) EXPECT_TRUE(table.contains("kept" + std::to_string(i))) << i;
  for (int i = 0; i < 2 * pods; ++i) EXPECT_TRUE(table.contains("new" + std::to_string(i))) << i;
  return asked > 1;
}

TEST(PodTableGrowthTest, RetainsWhilePodsAreAdded) {
  bool grew = false;
  // At one size in ten the table is about to grow.
  for (int walk = 0; walk < 300 && !grew; ++walk) {
    grew = retains_while_pods_are_added(2'000 + 137 * walk % 6'000);
  }
  EXPECT_TRUE(grew) << "the table did not grow under any walk";
}

}  // namespace
}  // namespace tangram::cluster
