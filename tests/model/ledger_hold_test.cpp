#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace tangram::model {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::granted;
using testing::holding;
using testing::inventory;

/// One node "n" with one card of 1000 MiB, so that a thousandth of it is 1 MiB.
class LedgerHoldTest : public ::testing::Test {
 protected:
  LedgerHoldTest() { ledger_.put_node(inventory("n", {card("a", "T4", Mebibytes(1000))})); }

  static Holding pod(const std::string& uid, std::int64_t milli) {
    return holding(uid, "n", {granted("a", milli, milli)});
  }
  std::int64_t used() { return ledger_.snapshot()->find("n")->use.front().compute.count(); }

  std::vector<Ledger::Late> late() {
    ledger_.expire_holds();
    return ledger_.overdue(100);
  }

  testing::ManualClock clock_;
  Ledger ledger_{clock_};
};
class LedgerDoubtTest : public LedgerHoldTest {};

TEST_F(LedgerHoldTest, KeepsOthersOut) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.held_count(), 1U);
  EXPECT_EQ(ledger_.pod_count(), 0U);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
  EXPECT_EQ(ledger_.assume(pod("q", 400), 30s).error().code, Errc::kStale);
  EXPECT_EQ(ledger_.hold(pod("q", 400), 3s).error().code, Errc::kStale);
  EXPECT_TRUE(ledger_.assume(pod("q", 300), 30s));
}

TEST_F(LedgerHoldTest, BecomesTheBooking) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 30s));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.held_count(), 0U);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kAssumed);
  EXPECT_FALSE(ledger_.find("p")->holding->tentative);
  clock_.advance(3s);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerHoldTest, IsReplacedByTheNextOne) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.hold(pod("p", 800), 3s));
  EXPECT_EQ(used(), 800);
  clock_.advance(2s);
  ASSERT_TRUE(ledger_.hold(pod("p", 900), 3s));
  clock_.advance(2s);  // the first ones' time is up, not this one's
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 900);
}

TEST_F(LedgerHoldTest, StaysWhenTheNextOneIsRefused) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.assume(pod("q", 200), 30s));
  EXPECT_EQ(ledger_.hold(pod("p", 900), 3s).error().code, Errc::kStale);
  EXPECT_EQ(ledger_.hold(holding("p", "elsewhere", {}), 3s).error().code, Errc::kNotFound);
  EXPECT_EQ(ledger_.assume(pod("p", 900), 3s).error().code, Errc::kStale);
  EXPECT_EQ(used(), 900);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kHeld);
}

TEST_F(LedgerHoldTest, EndsWithItsTime) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  clock_.advance(2'999ms);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
  clock_.advance(1ms);
  EXPECT_TRUE(late().empty());  // nobody need be asked
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(ledger_.find("p"), nullptr);
}

TEST_F(LedgerHoldTest, EndsWithThePodOrWhenDropped) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_EQ(used(), 0);
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  ledger_.drop_hold("p");
  ledger_.drop_hold("p");
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(ledger_.held_count(), 0U);
}

TEST_F(LedgerHoldTest, IsRefusedForAPodThatIsBooked) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 30s));
  EXPECT_EQ(ledger_.hold(pod("p", 700), 3s).error().code, Errc::kConflict);
  ledger_.drop_hold("p");
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerHoldTest, GivesWayToWhatTheWatchShows) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  ledger_.observe(pod("p", 700));
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kConfirmed);
  EXPECT_FALSE(ledger_.find("p")->holding->tentative);
  EXPECT_EQ(ledger_.held_count(), 0U);
  clock_.advance(3s);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerHoldTest, IsNotCountedAsGranted) {
  ledger_.observe(pod("bound", 200));
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  const auto books = ledger_.snapshot();
  EXPECT_TRUE(has_tentative(*books->find("n")));
  const NodeState granted = granted_only(*books->find("n"));
  EXPECT_FALSE(has_tentative(granted));
  EXPECT_EQ(granted.use.front().compute.count(), 200);
  EXPECT_EQ(granted.holdings.size(), 1U);
}

TEST_F(LedgerDoubtTest, KeepsTheBookingUntilSomebodyKnows) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  ledger_.doubt("p", clock_.now() + 70s);
  ASSERT_NE(ledger_.find("p"), nullptr);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kUnsure);
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.assumed_count(), 1U);
  clock_.advance(69s);
  EXPECT_TRUE(late().empty());
  clock_.advance(1s);
  ASSERT_EQ(late().size(), 1U);  // named, not released
  EXPECT_EQ(used(), 700);
  ASSERT_TRUE(ledger_.confirm("p"));
  EXPECT_EQ(ledger_.assumed_count(), 0U);
}

TEST_F(LedgerDoubtTest, IsStillWhatOverdueNamedOnlyUntilSomethingHappens) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  ledger_.doubt("p", clock_.now() + 70s);
  clock_.advance(70s);
  const auto named = late();
  ASSERT_EQ(named.size(), 1U);
  EXPECT_TRUE(ledger_.still(named.front()));
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));  // sent again
  EXPECT_FALSE(ledger_.still(named.front()));
  ledger_.doubt("p", clock_.now() + 80s);  // and in doubt again
  EXPECT_FALSE(ledger_.still(named.front()));
  ASSERT_TRUE(ledger_.confirm("p"));
  EXPECT_FALSE(ledger_.still(named.front()));
}

TEST_F(LedgerHoldTest, IsNoBookingThatCouldBeConfirmed) {
  ASSERT_TRUE(ledger_.hold(pod("p", 700), 3s));
  EXPECT_EQ(ledger_.confirm("p").error().code, Errc::kNotFound);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kHeld);
}

TEST_F(LedgerDoubtTest, OverdueNamesAFewAtATime) {
  for (const char* uid : {"p", "q", "r"}) ASSERT_TRUE(ledger_.assume(pod(uid, 100), 5s));
  clock_.advance(5s);
  EXPECT_EQ(ledger_.overdue(2).size(), 2U);
  EXPECT_EQ(ledger_.overdue(2).size(), 1U);
  EXPECT_EQ(ledger_.overdue(2).size(), 0U);
}

TEST_F(LedgerDoubtTest, MayBeSentAgainOnlyAsItWas) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  EXPECT_EQ(ledger_.assume(pod("p", 700), 5s).error().code, Errc::kConflict);  // under way
  ledger_.doubt("p", clock_.now() + 70s);
  EXPECT_EQ(ledger_.assume(pod("p", 600), 5s).error().code, Errc::kConflict);
  EXPECT_EQ(ledger_.hold(pod("p", 700), 5s).error().code, Errc::kConflict);
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kAssumed);
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerDoubtTest, IsForPodsWhoseBindIsUnderWay) {
  ledger_.doubt("nobody", clock_.now() + 70s);
  ASSERT_TRUE(ledger_.hold(pod("p", 300), 3s));
  ledger_.doubt("p", clock_.now() + 70s);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kHeld);
  ledger_.observe(pod("q", 300));
  ledger_.doubt("q", clock_.now() + 70s);
  EXPECT_EQ(ledger_.find("q")->phase, Phase::kConfirmed);
}

TEST_F(LedgerDoubtTest, UnsettledIsWhatMayComeBackWithoutAPodEnding) {
  ASSERT_TRUE(ledger_.hold(pod("held", 100), 3s));
  ASSERT_TRUE(ledger_.assume(pod("assumed", 100), 5s));
  ASSERT_TRUE(ledger_.assume(pod("unsure", 100), 5s));
  ledger_.doubt("unsure", clock_.now() + 70s);
  ASSERT_TRUE(ledger_.assume(pod("bound", 100), 5s));
  ASSERT_TRUE(ledger_.confirm("bound"));
  std::set<std::string> uids;
  for (const HoldingPtr& holding : ledger_.unsettled()) uids.insert(holding->pod_uid);
  EXPECT_EQ(uids, (std::set<std::string>{"assumed", "held", "unsure"}));
}

}  // namespace
}  // namespace tangram::model
