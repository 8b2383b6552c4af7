// What containers get of a card in simulated time.
#include "tests/node/lease/simulated_card.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <iostream>

namespace tangram::node::lease {
namespace {

constexpr std::int64_t kSecond = 10;  // tenths

struct Kind {
  const char* name;
  std::chrono::nanoseconds kernel;
};
constexpr Kind kKinds[] = {
    {"2us", 2us}, {"100us", 100us}, {"5ms", 5ms}, {"50ms", 50ms}, {"graph12ms", 12ms}};

/// Per cent of the time that the card worked.
double percent(const SimulatedCard& card, std::int64_t tenth, std::int64_t tenths) {
  const auto a = static_cast<double>(card.used("a", tenth, tenths).count());
  const auto b = static_cast<double>(card.used("b", tenth, tenths).count());
  return 100 * a / (a + b);
}

struct Pair {
  std::int64_t share;  ///< of a, in per cent; b has the rest
  Kind a;
  Kind b;
};

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const std::int64_t share : {10, 30, 50}) {
    for (const Kind& a : kKinds) {
      for (const Kind& b : kKinds) pairs.push_back({share, a, b});
    }
  }
  return pairs;
}

class SharesTest : public ::testing::TestWithParam<Pair> {
 protected:
  SimulatedCard card_{1};
};

/// Two containers that always have work.
TEST_P(SharesTest, HoldWithinFivePointsOfASecondAndTwoOfTen) {
  const Pair& pair = GetParam();
  card_.add("a", {MilliGpu(10 * pair.share), kWholeGpu}, {.kernel = pair.a.kernel});
  card_.add("b", {MilliGpu(1000 - 10 * pair.share), kWholeGpu}, {.kernel = pair.b.kernel});
  card_.run(12s);
  const auto share = static_cast<double>(pair.share);
  double most = 0;
  for (std::int64_t tenth = kSecond; tenth <= 11 * kSecond; ++tenth) {
    most = std::max(most, std::abs(percent(card_, tenth, kSecond) - share));
  }
  const double of_ten = std::abs(percent(card_, kSecond, 10 * kSecond) - share);
  const auto busy = card_.used("a", kSecond, 10 * kSecond) + card_.used("b", kSecond, 10 * kSecond);
  std::cout << pair.share << "% " << pair.a.name << " against " << pair.b.name << std::fixed
            << std::setprecision(2) << ": " << most << " of 1 s, " << of_ten << " of 10 s, busy "
            << static_cast<double>(busy.count()) / 1e8 << " %\n";
  EXPECT_LE(most, 5);
  EXPECT_LE(of_ten, 2);
  EXPECT_GE(busy, 9500ms);
}

INSTANTIATE_TEST_SUITE_P(All, SharesTest, ::testing::ValuesIn(all_pairs()), [](const auto& param) {
  return std::to_string(param.param.share) + "_" + param.param.a.name + "_" + param.param.b.name;
});

constexpr TimeShare time_of(std::int64_t percent_of_card, std::int64_t limit = 100) {
  return {MilliGpu(10 * percent_of_card), MilliGpu(10 * limit)};
}

class LeaseTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::int64_t used_ms(const std::string& name, std::int64_t tenth,
                                     std::int64_t tenths) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(card_.used(name, tenth, tenths))
        .count();
  }
  SimulatedCard card_{1};
};

TEST_F(LeaseTest, ThreeContainersHoldTheirShares) {
  card_.add("a", time_of(10), {.kernel = 50ms});
  card_.add("b", time_of(30), {.kernel = 2us});
  card_.add("c", time_of(60), {.kernel = 5ms});
  card_.run(11s);
  EXPECT_NEAR(static_cast<double>(used_ms("a", kSecond, 10 * kSecond)), 1000, 200);
  EXPECT_NEAR(static_cast<double>(used_ms("b", kSecond, 10 * kSecond)), 3000, 200);
  EXPECT_NEAR(static_cast<double>(used_ms("c", kSecond, 10 * kSecond)), 6000, 200);
}

TEST_F(LeaseTest, WhatNobodyRequestedIsDividedByTheShares) {
  card_.add("a", time_of(10), {.kernel = 100us});
  card_.add("b", time_of(30), {.kernel = 100us});
  card_.run(11s);
  EXPECT_NEAR(percent(card_, kSecond, 10 * kSecond), 25, 2);
}

TEST_F(LeaseTest, IdleTimeIsLentWithinATenthOfASecond) {
  for (const auto kernel : {std::chrono::nanoseconds(2us), std::chrono::nanoseconds(50ms)}) {
    SimulatedCard card(1);
    card.add("a", time_of(90), {.kernel = kernel});
    card.add("b", time_of(10), {.kernel = 100us});
    card.run(3s);
    card.set_idle("a", true);
    card.run(1s);
    EXPECT_GE(card.used("b", 31, 9), 880ms) << "all but the first tenth";
  }
}

TEST_F(LeaseTest, TimeThatWasNotUsedIsNotKept) {
  card_.add("a", time_of(50), {.kernel = 100us});
  card_.add("b", time_of(50), {.kernel = 100us});
  card_.set_idle("a", true);
  card_.run(5s);
  card_.set_idle("a", false);
  card_.run(1s);
  EXPECT_NEAR(percent(card_, 5 * kSecond, kSecond), 50, 5);
}

TEST_F(LeaseTest, AContainerAloneIsNotInterrupted) {
  card_.add("a", time_of(10), {.kernel = 100us});
  card_.add("b", time_of(90), {.kernel = 100us});
  card_.set_idle("b", true);
  card_.run(2s);
  EXPECT_GE(used_ms("a", 0, 2 * kSecond), 1990);
}

TEST_F(LeaseTest, ALimitHoldsWhileTheCardIsIdle) {
  for (const Kind& kind : kKinds) {
    SimulatedCard card(1);
    card.add("a", time_of(20, 30), {.kernel = kind.kernel});
    card.run(12s);
    for (std::int64_t tenth = kSecond; tenth <= 11 * kSecond; ++tenth) {
      ASSERT_LE(card.used("a", tenth, kSecond), 350ms) << kind.name << " " << tenth;
    }
    EXPECT_LE(card.used("a", kSecond, 10 * kSecond), 3050ms) << kind.name;
    EXPECT_GE(card.used("a", kSecond, 10 * kSecond), 2800ms) << kind.name;
  }
}

TEST_F(LeaseTest, ALimitThatIsTheShareHoldsBesideAnother) {
  card_.add("a", time_of(30, 30), {.kernel = 100us});
  card_.add("b", time_of(20, 100), {.kernel = 5ms});
  card_.run(11s);
  EXPECT_NEAR(static_cast<double>(used_ms("a", kSecond, 10 * kSecond)), 3000, 200);
  EXPECT_GE(used_ms("b", kSecond, 10 * kSecond), 6700);
}

/// The limited container is behind by 2.5 s of virtual time each second.
TEST_F(LeaseTest, AContainerThatComesIsNotAsFarBehindAsOneAtItsLimit) {
  card_.add("a", time_of(30, 30), {.kernel = 100us});
  card_.add("b", time_of(20), {.kernel = 100us});
  card_.add("c", time_of(20), {.kernel = 100us});
  card_.set_idle("c", true);
  card_.run(10s);
  card_.set_idle("c", false);
  card_.run(1s);
  EXPECT_NEAR(static_cast<double>(used_ms("b", 10 * kSecond, kSecond)), 350, 50);
  EXPECT_NEAR(static_cast<double>(used_ms("c", 10 * kSecond, kSecond)), 350, 50);
}

/// It is charged by what it measured, not by how long it had the card for itself.
TEST_F(LeaseTest, AContainerThatUsesLessThanItsLimitIsNotSlowedDown) {
  card_.add("a", time_of(20, 50), {.kernel = 1ms, .work = 1ms, .pause = 4ms});
  card_.run(5s);
  EXPECT_GE(used_ms("a", kSecond, 4 * kSecond), 700);
}

TEST_F(LeaseTest, AContainerWithPausesGetsWhatItWantsUpToItsShare) {
  card_.add("a", time_of(50), {.kernel = 2ms, .work = 20ms, .pause = 50ms});
  card_.add("b", time_of(50), {.kernel = 100us});
  card_.run(11s);
  // Alone it would use 20 of 70 ms; it waits for a turn to end each time, and once on the way.
  EXPECT_GE(used_ms("a", kSecond, 10 * kSecond), 2000);
  EXPECT_GE(used_ms("a", kSecond, 10 * kSecond) + used_ms("b", kSecond, 10 * kSecond), 9500);
}

TEST_F(LeaseTest, AContainerThatSaysItUsedNothingGainsAnEighthAtMost) {
  card_.add("a", time_of(50), {.kernel = 100us, .lies = true});
  card_.add("b", time_of(50), {.kernel = 100us});
  card_.run(11s);
  EXPECT_LE(percent(card_, kSecond, 10 * kSecond), 100.0 * 8 / 15 + 1);
}

TEST_F(LeaseTest, ADeadContainersTurnEndsAtOnce) {
  card_.add("a", time_of(90), {.kernel = 50ms});
  card_.add("b", time_of(10), {.kernel = 100us});
  card_.run(3s);
  card_.kill("a");
  card_.run(1s);
  EXPECT_GE(used_ms("b", 3 * kSecond, kSecond), 950);
}

}  // namespace
}  // namespace tangram::node::lease
