#include "policies/prices.hpp"

#include "base/clock.hpp"
#include "model/ledger.hpp"
#include "policies/arrival_log.hpp"
#include "policies/fill.hpp"
#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class PricesTest : public ::testing::Test {
 protected:
  void add_node(const std::string& name, std::int64_t cpu, std::int64_t card_mib = 16'384) {
    auto what = inventory(name, {card(name + "-0", "T4", Mebibytes(card_mib)),
                                 card(name + "-1", "T4", Mebibytes(card_mib))});
    what.cpu = MilliCpu(cpu);
    ledger_.put_node(std::move(what));
  }
  Prices learn() { return learn_prices(counter_.top(kAllPods), *ledger_.snapshot()); }

  SystemClock clock_;
  model::Ledger ledger_{clock_};
  WorkloadCounter counter_;
};

TEST_F(PricesTest, NothingIsLearnedFromNothing) {
  add_node("a", 64'000);
  EXPECT_EQ(learn(), Prices{});
}

TEST_F(PricesTest, ACardNeedsTheCpuThatItsPodsAskOnAverage) {
  add_node("a", 64'000);
  counter_.add(pod(request(whole()), 10'000));
  counter_.add(pod(request(fraction(500)), 2'000));
  EXPECT_EQ(learn().cpu_per_card, 7'600);  // 95 % of 12 cores for 1.5 cards
}

TEST_F(PricesTest, ACardNeedsLessWhereTheClusterHasLess) {
  add_node("a", 16'000);  // 8 of the 10 cores that each card's pods want
  counter_.add(pod(request(whole()), 10'000));
  EXPECT_EQ(learn().cpu_per_card, 6'400);
  counter_.add(cpu_pod(10'000));  // and these want all of it
  EXPECT_EQ(learn().cpu_per_card, 5'000);
}

TEST_F(PricesTest, OpeningANodeCostsTheCubeOfTheDemandForSeveralCards) {
  add_node("a", 64'000);
  counter_.add(pod(request(whole(), 2)));
  EXPECT_EQ(learn().opening, kFull);
  counter_.add(pod(request(whole())));
  counter_.add(pod(request(whole())));
  EXPECT_EQ(learn().opening, kFull / 8);
}

TEST_F(PricesTest, OpeningACardCostsMoreOnFewCards) {
  for (int i = 0; i < 3; ++i) counter_.add(pod(request(whole())));
  for (int i = 0; i < 12; ++i) counter_.add(pod(request(fraction(500))));
  // 6 of 12 cards are seen to be whole, and 3 more could be: sqrt(3/5 x 2/5 / cards).
  add_node("a", 64'000);
  counter_.add(pod(request(whole(), 3)));
  EXPECT_EQ(learn().card_opening, std::llround(kFull * std::sqrt(0.24 / 2)));
  for (int i = 0; i < 5; ++i) add_node("n" + std::to_string(i), 64'000);
  EXPECT_EQ(learn().card_opening, std::llround(kFull * std::sqrt(0.24 / 12)));
}

TEST_F(PricesTest, OpeningACardCostsNothingOnceManyPodsWantedNoWholeOne) {
  add_node("a", 64'000);
  for (int i = 0; i < 3; ++i) counter_.add(pod(request(fraction(500))));
  EXPECT_GT(learn().card_opening, kFull / 4);
  for (int i = 0; i < 100'000; ++i) counter_.add(pod(request(fraction(500))));
  EXPECT_LT(learn().card_opening, kFull / 100);
}

TEST_F(PricesTest, MemoryRequestsAreCutFromEachSizeOfCard) {
  for (int i = 0; i < 50; ++i) {
    add_node("a" + std::to_string(i), 64'000, 16'384);
    add_node("b" + std::to_string(i), 64'000, 32'768);
  }
  for (int i = 0; i < 2; ++i) counter_.add(pod(request(memory(8'192)), 1'000));
  const Prices prices = learn();
  ASSERT_EQ(prices.rests.size(), 2U);
  EXPECT_EQ(prices.rests[0].values[500], kFull / 2);
  EXPECT_LT(prices.rests[0].values[250], kFull / 100);
  EXPECT_EQ(prices.rests[1].values[250], kFull / 4);
}

TEST_F(PricesTest, SizesSeenOnceAreNoDemandToPlanFor) {
  for (int i = 0; i < 50; ++i) add_node("n" + std::to_string(i), 64'000);
  for (const int milli : {810, 730, 640, 550}) counter_.add(pod(request(fraction(milli))));
  EXPECT_EQ(learn().rests[0].values[190], 190 * kFull / 1000);
  for (int i = 0; i < 100; ++i) counter_.add(pod(request(fraction(810))));
  EXPECT_LT(learn().rests[0].values[190], 50 * kFull / 1000);
}

TEST_F(PricesTest, FewCardsFollowNoPatternOfManySizes) {
  add_node("a", 64'000);
  for (int i = 0; i < 30; ++i) {
    for (const int milli : {810, 730, 640}) counter_.add(pod(request(fraction(milli))));
  }
  EXPECT_EQ(learn().rests[0].values[190], 190 * kFull / 1000);
}

TEST_F(PricesTest, EqualArrivalsGiveEqualPrices) {
  for (int i = 0; i < 20; ++i) add_node("n" + std::to_string(i), 32'000 + 1'000 * i);
  for (int i = 0; i < 500; ++i) {
    counter_.add(pod(request(fraction(10L * (1 + i * 37 % 99))), 1'000 + 100 * (i % 17)));
  }
  EXPECT_EQ(learn(), learn());
}

TEST_F(PricesTest, SmallDifferencesAreNone) {
  Prices a;
  a.cpu_per_card = 10'000;
  Prices b = a;
  b.cpu_per_card = 10'100;
  EXPECT_TRUE(nearly_equal(a, b));
  b.cpu_per_card = 11'000;
  EXPECT_FALSE(nearly_equal(a, b));
  b = a;
  b.kinds.push_back({});
  EXPECT_FALSE(nearly_equal(a, b));
}

DemandPtr one_of(std::int64_t milli) {
  return std::make_shared<const model::PodDemand>(pod(request(fraction(milli))));
}

TEST(ArrivalLogTest, SaysWhenToLearnAtTwiceAsManyAndThenEverySoManyPods) {
  ArrivalLog log({.window_pods = 1'000, .relearn_every = 40});
  std::vector<int> due;
  for (int i = 1; i <= 180; ++i) {
    if (log.add(one_of(500))) due.push_back(i);
  }
  EXPECT_EQ(due, (std::vector<int>{25, 50, 90, 130, 170}));
  EXPECT_EQ(log.take().size(), 180U);
  EXPECT_TRUE(log.take().empty());
}

TEST(ArrivalLogTest, KeepsNoMoreThanAWindow) {
  ArrivalLog log({.window_pods = 30, .relearn_every = 25});
  for (int i = 0; i < 50; ++i) log.add(one_of(i));
  const Arrivals latest = log.take();
  ASSERT_EQ(latest.size(), 30U);
  EXPECT_EQ(latest.back()->gpu.containers.at(0).share.fraction, MilliGpu(49));
}

TEST(ArrivalWindowTest, ForgetsPodsThatLeftIt) {
  ArrivalWindow window({.window_pods = 30, .relearn_every = 25});
  window.add(Arrivals(50, one_of(500)));
  EXPECT_EQ(window.count().pods(), 30U);
  window.add(Arrivals(29, one_of(250)));
  Workload workload = window.count().top(kAllPods);
  ASSERT_EQ(workload.classes.size(), 2U);
  EXPECT_EQ(workload.classes[0].count, 29);
  window.add({one_of(250)});
  workload = window.count().top(kAllPods);
  EXPECT_EQ(workload.classes.size(), 1U);
}

TEST(WorkloadDistanceTest, IsHalfTheDifferenceOfTheShares) {
  WorkloadCounter a;
  a.add(pod(request(fraction(100))));
  a.add(pod(request(fraction(200))));
  WorkloadCounter b;
  b.add(pod(request(fraction(100))));
  b.add(pod(request(fraction(300))));
  EXPECT_EQ(distance_percent(a.top(kAllPods), a.top(kAllPods)), 0);
  EXPECT_EQ(distance_percent(a.top(kAllPods), b.top(kAllPods)), 50);
  EXPECT_EQ(distance_percent(a.top(kAllPods), {}), 100);
}

}  // namespace
}  // namespace tangram::policies
