#include "extender/scheduling/offers.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::extender {
namespace {

using namespace std::chrono_literals;
using Nodes = std::set<std::string, std::less<>>;

class OffersTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kPods = 3;
  testing::ManualClock clock_;
  Offers offers_{clock_, kPods, 60s};
};

TEST_F(OffersTest, KnowsNothingOfANewPod) {
  EXPECT_TRUE(offers_.begin_filter("p").empty());
  EXPECT_TRUE(offers_.refused("p").empty());
  EXPECT_EQ(offers_.pods(), 0U);
}

TEST_F(OffersTest, RefusesWhatWasOfferedAndCameBackUnbound) {
  offers_.offered("p", "a");
  EXPECT_TRUE(offers_.refused("p").empty());  // the scheduler may be about to bind
  EXPECT_EQ(offers_.begin_filter("p"), Nodes{"a"});
  EXPECT_EQ(offers_.refused("p"), Nodes{"a"});
  EXPECT_TRUE(offers_.begin_filter("other").empty());
}

TEST_F(OffersTest, RefusesOnlyTheNodeWhoseBindFailed) {
  offers_.offered("p", "a");
  offers_.bind_failed("p", "b");
  EXPECT_EQ(offers_.begin_filter("p"), Nodes{"b"});
}

TEST_F(OffersTest, RefusesAFailedBindOfAPodItNeverOffered) {
  offers_.bind_failed("p", "a");
  EXPECT_EQ(offers_.refused("p"), Nodes{"a"});
}

TEST_F(OffersTest, AddsUpRefusals) {
  offers_.offered("p", "a");
  offers_.begin_filter("p");
  offers_.offered("p", "b");
  EXPECT_EQ(offers_.begin_filter("p"), (Nodes{"a", "b"}));
}

TEST_F(OffersTest, ForgetsAPodThatIsBound) {
  offers_.offered("p", "a");
  offers_.bind_failed("p", "a");
  offers_.forget("p");
  EXPECT_TRUE(offers_.begin_filter("p").empty());
  EXPECT_EQ(offers_.pods(), 0U);
  offers_.forget("p");
  EXPECT_EQ(offers_.pods(), 0U);
}

TEST_F(OffersTest, ForgetsARefusalAfterThePenalty) {
  offers_.bind_failed("p", "a");
  clock_.advance(40s);
  offers_.bind_failed("p", "b");
  clock_.advance(19s + 999ms);
  EXPECT_EQ(offers_.refused("p"), (Nodes{"a", "b"}));
  clock_.advance(1ms);
  EXPECT_EQ(offers_.refused("p"), Nodes{"b"});
  clock_.advance(40s);
  EXPECT_TRUE(offers_.refused("p").empty());
}

TEST_F(OffersTest, StartsThePenaltyAnewWhenANodeFailsAgain) {
  offers_.bind_failed("p", "a");
  clock_.advance(50s);
  offers_.bind_failed("p", "a");
  clock_.advance(50s);
  EXPECT_EQ(offers_.refused("p"), Nodes{"a"});
}

TEST_F(OffersTest, ForgetsThePodLeastRecentlyFilteredWhenThereAreTooMany) {
  for (const char* pod : {"p1", "p2", "p3"}) offers_.bind_failed(pod, "a");
  offers_.offered("p1", "b");
  offers_.bind_failed("p4", "a");
  EXPECT_EQ(offers_.pods(), kPods);
  EXPECT_TRUE(offers_.refused("p2").empty());
  EXPECT_EQ(offers_.refused("p1"), Nodes{"a"});
  EXPECT_EQ(offers_.refused("p3"), Nodes{"a"});
  EXPECT_EQ(offers_.refused("p4"), Nodes{"a"});
}

TEST_F(OffersTest, ForgetsTheOldestRefusalsOfOnePodWhenThereAreTooMany) {
  constexpr std::size_t kMost = Offers::kMaxRefusedPerPod;
  for (std::size_t i = 0; i < kMost + 2; ++i) offers_.bind_failed("p", "n" + std::to_string(i));
  const Nodes refused = offers_.refused("p");
  EXPECT_EQ(refused.size(), kMost);
  EXPECT_FALSE(refused.contains("n0"));
  EXPECT_FALSE(refused.contains("n1"));
  EXPECT_TRUE(refused.contains("n2"));
  EXPECT_TRUE(refused.contains("n" + std::to_string(kMost + 1)));
}

}  // namespace
}  // namespace tangram::extender
