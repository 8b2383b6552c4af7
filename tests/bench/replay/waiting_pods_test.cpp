#include "bench/replay/waiting_pods.hpp"

#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

using Unit = WaitingPods::Unit;

/// Two nodes with two devices each, all of them taken.
class WaitingPodsTest : public ::testing::Test {
 protected:
  WaitingPodsTest() : trace_(cluster_of({2, 2})), checker_(trace_.nodes), waiting_(checker_) {
    for (std::size_t node = 0; node < 2; ++node) {
      EXPECT_FALSE(checker_.record(whole_, Placed{.node = node, .gpus = {0}}));
      EXPECT_FALSE(checker_.record(whole_, Placed{.node = node, .gpus = {1}}));
    }
  }
  void free(std::size_t node, std::uint32_t gpu) {
    checker_.remove(whole_, Placed{.node = node, .gpus = {gpu}});
  }

  const TracePod whole_ = pod_of(1, 1000);
  const TracePod half_ = pod_of(1, 500);
  const TracePod pair_ = pod_of(2, 1000);
  const TracePod urgent_ = urgent(pod_of(1, 1000), 0, 1).pod;
  Trace trace_;
  PlacementChecker checker_;
  WaitingPods waiting_;
};

TEST_F(WaitingPodsTest, TheOldestThatFitsComesFirst) {
  waiting_.add({.first = 1}, pair_);
  waiting_.add({.first = 2}, whole_);
  waiting_.add({.first = 3}, half_);
  waiting_.add({.first = 4}, whole_);
  EXPECT_EQ(waiting_.first_that_fits(0), std::nullopt);
  free(0, 0);
  EXPECT_EQ(waiting_.first_that_fits(0), Unit{.first = 2});
  EXPECT_EQ(waiting_.first_that_fits(1), std::nullopt);
  free(0, 1);
  EXPECT_EQ(waiting_.first_that_fits(0), Unit{.first = 1});
}

TEST_F(WaitingPodsTest, UrgentPodsComeBeforeOlderOnes) {
  waiting_.add({.first = 1}, whole_);
  waiting_.add({.first = 2}, urgent_);
  free(1, 1);
  EXPECT_EQ(waiting_.first_that_fits(1), Unit{.first = 2});
  waiting_.remove({.first = 2});
  EXPECT_EQ(waiting_.first_that_fits(1), Unit{.first = 1});
  waiting_.remove({.first = 1});
  EXPECT_EQ(waiting_.first_that_fits(1), std::nullopt);
  EXPECT_TRUE(waiting_.empty());
}

TEST_F(WaitingPodsTest, AGroupNeedsRoomForAllOnAnyNodes) {
  const Unit group{.first = 1, .pods = 3};
  waiting_.add(group, whole_);
  free(0, 0);
  free(0, 1);
  EXPECT_EQ(waiting_.first_that_fits(0), std::nullopt);
  EXPECT_FALSE(waiting_.fits(group, whole_));
  free(1, 0);
  EXPECT_EQ(waiting_.first_that_fits(1), group);
  EXPECT_TRUE(waiting_.fits(group, whole_));
}

TEST_F(WaitingPodsTest, ListsAFewOfEachKindInOrder) {
  for (std::size_t pod = 0; pod < 4; ++pod) waiting_.add({.first = pod}, pod == 2 ? pair_ : whole_);
  waiting_.add({.first = 4}, urgent_);
  EXPECT_EQ(waiting_.in_order(2), (std::vector<Unit>{{4}, {0}, {1}, {2}}));
  EXPECT_TRUE(waiting_.has_alike({.first = 9}, pair_));
  EXPECT_FALSE(waiting_.has_alike({.first = 9, .pods = 2}, pair_));
  EXPECT_FALSE(waiting_.has_alike({.first = 9}, half_));
}

}  // namespace
}  // namespace tangram::bench
