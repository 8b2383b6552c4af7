#include "node/lease/arbiter.hpp"

#include "tests/testing/random.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tangram::node::lease {
namespace {

using namespace std::chrono_literals;

class ArbiterTest : public ::testing::Test {
 protected:
  ArbiterTest() {
    arbiter_.set("a", {MilliGpu(500), kWholeGpu});
    arbiter_.set("b", {MilliGpu(500), kWholeGpu});
  }
  /// A millisecond later.
  void step(const std::map<std::string, Sight>& sights) {
    now_ += 1ms;
    arbiter_.step(now_, sights);
  }
  void steps(int count, const std::map<std::string, Sight>& sights) {
    for (int i = 0; i < count; ++i) step(sights);
  }

  Arbiter arbiter_;
  TimePoint now_{};
};

const Sight kWaits{.waits = true};
const Sight kWorks{.in_flight = true, .batch = 50ms};

TEST_F(ArbiterTest, AllMayLaunchWhileNobodyWantsTheCard) {
  steps(10, {});
  EXPECT_TRUE(arbiter_.is_open("a"));
  EXPECT_TRUE(arbiter_.is_open("b"));
  EXPECT_TRUE(arbiter_.is_quiet());
  EXPECT_FALSE(arbiter_.holder());
}

TEST_F(ArbiterTest, TheFirstThatLaunchesHasTheTurn) {
  step({});
  step({{"b", {.launches = 1}}});
  EXPECT_TRUE(arbiter_.is_open("b"));
  EXPECT_FALSE(arbiter_.is_open("a"));
  EXPECT_FALSE(arbiter_.is_quiet());
}

TEST_F(ArbiterTest, AContainerItDoesNotKnowMayLaunch) {
  step({{"a", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("another"));
}

TEST_F(ArbiterTest, ATurnEndsAfterTenMillisecondsIfAnotherWaits) {
  step({{"a", kWorks}, {"b", kWaits}});
  ASSERT_EQ(arbiter_.holder(), "a");
  steps(9, {{"a", kWorks}, {"b", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("a"));
  step({{"a", kWorks}, {"b", kWaits}});
  EXPECT_FALSE(arbiter_.is_open("a"));
  EXPECT_FALSE(arbiter_.is_open("b")) << "a's work is still on the card";
}

TEST_F(ArbiterTest, TheNextTurnBeginsWhenTheWorkHasEnded) {
  steps(11, {{"a", kWorks}, {"b", kWaits}});
  ASSERT_FALSE(arbiter_.is_open("b"));
  steps(20, {{"a", kWorks}, {"b", kWaits}});
  EXPECT_FALSE(arbiter_.is_open("b"));
  step({{"a", kWaits}, {"b", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("b"));
}

TEST_F(ArbiterTest, WorkThatDoesNotEndIsBelievedForTwoBatches) {
  steps(11 + 99, {{"a", kWorks}, {"b", kWaits}});
  EXPECT_FALSE(arbiter_.is_open("b"));
  steps(1, {{"a", kWorks}, {"b", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("b"));
}

TEST_F(ArbiterTest, NoBatchIsBelievedBeyondTwoTenthsOfASecond) {
  const Sight garbage{.in_flight = true, .busy = -1ns, .batch = std::chrono::nanoseconds::max()};
  steps(11 + 200, {{"a", garbage}, {"b", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("b"));
}

TEST_F(ArbiterTest, AnIdleHoldersTurnEndsAtOnce) {
  step({{"a", {.launches = 1}}, {"b", kWaits}});
  ASSERT_EQ(arbiter_.holder(), "a");
  steps(2, {{"a", {.launches = 1}}, {"b", kWaits}});
  ASSERT_EQ(arbiter_.holder(), "a");
  step({{"a", {.launches = 1}}, {"b", kWaits}});
  EXPECT_EQ(arbiter_.holder(), "b");
}

TEST_F(ArbiterTest, AContainerThatIsRemovedLeavesTheTurn) {
  step({{"a", kWorks}, {"b", kWaits}});
  arbiter_.remove("a");
  step({{"b", kWaits}});
  EXPECT_EQ(arbiter_.holder(), "b");
}

TEST_F(ArbiterTest, ABestEffortContainerLeavesTheTurnAfterAYear) {
  arbiter_.set("a", {MilliGpu(0), kWholeGpu});
  for (int day = 0; day < 365; ++day) {
    now_ += 24h;
    step({{"a", kWaits}});
    step({{"a", kWaits}});
    ASSERT_EQ(arbiter_.holder(), "a");
  }
  steps(2000, {{"a", {.waits = true, .busy = 1ms}}});  // what the long steps left is settled
  int of_a = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    step({{"a", kWaits}, {"b", kWaits}});
    of_a += arbiter_.holder() == "a" ? 1 : 0;
  }
  EXPECT_LE(of_a, 30) << "the turn that it has, and perhaps another";
}

TEST_F(ArbiterTest, WithoutALimitLeftNothingIsLaunched) {
  arbiter_.set("a", {MilliGpu(0), MilliGpu(0)});
  steps(50, {{"a", kWaits}});
  EXPECT_FALSE(arbiter_.is_open("a"));
}

TEST_F(ArbiterTest, AShareCanChange) {
  arbiter_.set("a", {MilliGpu(0), MilliGpu(0)});
  step({{"a", kWaits}});
  arbiter_.set("a", {MilliGpu(500), kWholeGpu});
  step({{"a", kWaits}});
  EXPECT_TRUE(arbiter_.is_open("a"));
}

/// Whatever a's page says, b has the card for its half of the time.
TEST_F(ArbiterTest, GarbageHarmsItsOwnContainerOnly) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  testing::Random random(seed);
  const auto any_time = [&] {
    return std::chrono::nanoseconds(random.one_in(2) ? random.below(1'000'000'000)
                                                     : std::numeric_limits<std::int64_t>::max());
  };
  int open = 0;
  constexpr std::uint32_t kSteps = 20'000;
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    const Sight garbage{.waits = random.one_in(2),
                        .in_flight = random.chance(90),
                        .launches = static_cast<std::uint32_t>(random.below(100)),
                        .busy = random.one_in(4) ? -any_time() : any_time(),
                        .batch = any_time()};
    const bool is_open = arbiter_.is_open("b");
    if (is_open) ++open;
    step({{"a", garbage}, {"b", {.waits = !is_open, .launches = i, .busy = is_open ? 1ms : 0ms}}});
  }
  EXPECT_GE(open, static_cast<int>(kSteps * 45 / 100));
}

}  // namespace
}  // namespace tangram::node::lease
