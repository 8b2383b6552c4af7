#include "model/ledger.hpp"
#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace tangram::model {
namespace {

using namespace std::chrono_literals;
using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

/// One node "n" with one card of 1000 MiB, so that a thousandth of it is 1 MiB.
class LedgerReservationTest : public ::testing::Test {
 protected:
  LedgerReservationTest() { ledger_.put_node(inventory("n", {card("a", "T4", Mebibytes(1000))})); }

  static Allocation pod(const std::string& uid, std::int64_t milli) {
    return allocation(uid, "n", {granted("a", milli, milli)});
  }
  std::int64_t used() { return ledger_.snapshot()->find("n")->use.front().compute.count(); }

  std::vector<Ledger::Overdue> late() {
    ledger_.expire_reservations();
    return ledger_.overdue(100);
  }

  testing::ManualClock clock_;
  Ledger ledger_{clock_};
};
class LedgerUnknownOutcomeTest : public LedgerReservationTest {};

TEST_F(LedgerReservationTest, KeepsOthersOut) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.reserved_count(), 1U);
  EXPECT_EQ(ledger_.pod_count(), 0U);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
  EXPECT_EQ(ledger_.assume(pod("q", 400), 30s).error().code, Errc::kStale);
  EXPECT_EQ(ledger_.reserve(pod("q", 400), 3s).error().code, Errc::kStale);
  EXPECT_TRUE(ledger_.assume(pod("q", 300), 30s));
}

/// Every filter and bind has reservations expire.
TEST_F(LedgerReservationTest, PassesADeadlineThatCountsNoMoreOnlyOnce) {
  for (int i = 0; i < 5'000; ++i) {
    const std::string uid = std::to_string(i);
    ASSERT_TRUE(ledger_.reserve(pod(uid, 1), 3s));
    ASSERT_TRUE(ledger_.assume(pod(uid, 1), 30s));
    ledger_.release(uid);
  }
  ASSERT_TRUE(ledger_.assume(pod("late", 1), 30s));
  clock_.advance(60s);
  ledger_.expire_reservations();
  const auto cost_of = [](Ledger& ledger) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 10; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 100; ++i) ledger.expire_reservations();
      least = std::min(least, std::chrono::steady_clock::now() - start);
    }
    return least;
  };
  Ledger without_pods(clock_);
  EXPECT_LT(cost_of(ledger_), 100 * cost_of(without_pods));
  const auto overdue = ledger_.overdue(100);
  ASSERT_EQ(overdue.size(), 1U);
  EXPECT_EQ(overdue[0].allocation->pod_uid, "late");
}

TEST_F(LedgerReservationTest, YieldsToAMoreImportantPod) {
  ASSERT_TRUE(ledger_.reserve(pod("less", 700), 3s));
  Allocation urgent = pod("p", 700);
  urgent.priority = 1;
  EXPECT_EQ(ledger_.reserve(urgent, 3s).error().code, Errc::kStale) << "it must be said";
  ASSERT_TRUE(ledger_.reserve(urgent, 3s, {"less"}));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.find("less"), nullptr);
  ledger_.release("p");
  ASSERT_TRUE(ledger_.reserve(pod("less", 700), 3s));
  ASSERT_TRUE(ledger_.assume(urgent, 30s, {"less"}));
  EXPECT_EQ(ledger_.reserved_count(), 0U);
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerReservationTest, YieldsToNobodyElse) {
  Allocation urgent = pod("p", 400);
  urgent.priority = 1;
  const auto taken = [&] { return ledger_.assume(urgent, 30s, {"other"}).error().code; };
  EXPECT_EQ(taken(), Errc::kStale) << "there is none";
  Allocation other = pod("other", 700);
  other.priority = 1;
  ASSERT_TRUE(ledger_.reserve(other, 3s));
  EXPECT_EQ(taken(), Errc::kStale) << "as important";
  ledger_.release("other");
  ASSERT_TRUE(ledger_.assume(pod("other", 700), 30s));
  EXPECT_EQ(taken(), Errc::kStale) << "its bind is under way";
  ledger_.confirm("other");
  EXPECT_EQ(taken(), Errc::kStale) << "bound";
  EXPECT_EQ(used(), 700);
  ledger_.release("other");
  ASSERT_TRUE(ledger_.reserve(pod("other", 300), 3s));
  urgent = pod("p", 1'001);
  urgent.priority = 1;
  EXPECT_EQ(taken(), Errc::kStale) << "too large";
  EXPECT_EQ(used(), 300) << "what did not help stays";
}

TEST_F(LedgerReservationTest, BecomesTheAllocation) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 30s));
  EXPECT_EQ(used(), 700);
  EXPECT_EQ(ledger_.reserved_count(), 0U);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kAssumed);
  EXPECT_FALSE(ledger_.find("p")->allocation->tentative);
  clock_.advance(3s);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerReservationTest, IsReplacedByTheNextOne) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.reserve(pod("p", 800), 3s));
  EXPECT_EQ(used(), 800);
  clock_.advance(2s);
  ASSERT_TRUE(ledger_.reserve(pod("p", 900), 3s));
  clock_.advance(2s);  // the first ones' time is up, not this one's
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 900);
}

TEST_F(LedgerReservationTest, StaysWhenTheNextOneIsRefused) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  ASSERT_TRUE(ledger_.assume(pod("q", 200), 30s));
  EXPECT_EQ(ledger_.reserve(pod("p", 900), 3s).error().code, Errc::kStale);
  EXPECT_EQ(ledger_.reserve(allocation("p", "elsewhere", {}), 3s).error().code, Errc::kNotFound);
  EXPECT_EQ(ledger_.assume(pod("p", 900), 3s).error().code, Errc::kStale);
  EXPECT_EQ(used(), 900);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kReserved);
}

TEST_F(LedgerReservationTest, EndsWithItsTime) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  clock_.advance(2'999ms);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
  clock_.advance(1ms);
  EXPECT_TRUE(late().empty());  // no pod need be read
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(ledger_.find("p"), nullptr);
}

TEST_F(LedgerReservationTest, EndsLaterOrEarlierWhenRenewed) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  clock_.advance(2s);
  ledger_.renew_reservation("p", 3s);
  clock_.advance(2'999ms);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
  ledger_.renew_reservation("p", 3s);
  ledger_.renew_reservation("p", 1s);
  clock_.advance(1s);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 0);
  ledger_.renew_reservation("p", 3s);
  EXPECT_EQ(ledger_.find("p"), nullptr) << "there is none to renew";
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 30s));
  ledger_.renew_reservation("p", 1s);
  clock_.advance(1s);
  EXPECT_TRUE(late().empty()) << "only of reservations";
}

TEST_F(LedgerReservationTest, EndsWithThePodOrWhenDropped) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_EQ(used(), 0);
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  ledger_.release_reservation("p");
  ledger_.release_reservation("p");
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(ledger_.reserved_count(), 0U);
}

TEST_F(LedgerReservationTest, IsRefusedForAPodThatIsBooked) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 30s));
  EXPECT_EQ(ledger_.reserve(pod("p", 700), 3s).error().code, Errc::kConflict);
  ledger_.release_reservation("p");
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerReservationTest, GivesWayToWhatTheWatchShows) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  ledger_.observe(pod("p", 700));
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kConfirmed);
  EXPECT_FALSE(ledger_.find("p")->allocation->tentative);
  EXPECT_EQ(ledger_.reserved_count(), 0U);
  clock_.advance(3s);
  EXPECT_TRUE(late().empty());
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerReservationTest, IsNotCountedAsGranted) {
  ledger_.observe(pod("bound", 200));
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  const auto ledger = ledger_.snapshot();
  EXPECT_TRUE(has_tentative(*ledger->find("n")));
  const NodeState granted = granted_only(*ledger->find("n"));
  EXPECT_FALSE(has_tentative(granted));
  EXPECT_EQ(granted.use.front().compute.count(), 200);
  EXPECT_EQ(granted.allocations.size(), 1U);
}

TEST_F(LedgerUnknownOutcomeTest, KeepsTheAllocationUntilTheOutcomeIsKnown) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  ledger_.outcome_unknown("p", clock_.now() + 70s);
  ASSERT_NE(ledger_.find("p"), nullptr);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kUnknown);
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

TEST_F(LedgerUnknownOutcomeTest, IsUnchangedOnlyUntilSomethingHappens) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  ledger_.outcome_unknown("p", clock_.now() + 70s);
  clock_.advance(70s);
  const auto named = late();
  ASSERT_EQ(named.size(), 1U);
  EXPECT_TRUE(ledger_.is_unchanged(named.front()));
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));  // sent again
  EXPECT_FALSE(ledger_.is_unchanged(named.front()));
  ledger_.outcome_unknown("p", clock_.now() + 80s);  // and unknown again
  EXPECT_FALSE(ledger_.is_unchanged(named.front()));
  ASSERT_TRUE(ledger_.confirm("p"));
  EXPECT_FALSE(ledger_.is_unchanged(named.front()));
}

TEST_F(LedgerReservationTest, IsNoBookingThatCouldBeConfirmed) {
  ASSERT_TRUE(ledger_.reserve(pod("p", 700), 3s));
  EXPECT_EQ(ledger_.confirm("p").error().code, Errc::kNotFound);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kReserved);
}

TEST_F(LedgerUnknownOutcomeTest, OverdueNamesAFewAtATime) {
  for (const char* uid : {"p", "q", "r"}) ASSERT_TRUE(ledger_.assume(pod(uid, 100), 5s));
  clock_.advance(5s);
  EXPECT_EQ(ledger_.overdue(2).size(), 2U);
  EXPECT_EQ(ledger_.overdue(2).size(), 1U);
  EXPECT_EQ(ledger_.overdue(2).size(), 0U);
}

TEST_F(LedgerUnknownOutcomeTest, MayBeSentAgainOnlyAsItWas) {
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  EXPECT_EQ(ledger_.assume(pod("p", 700), 5s).error().code, Errc::kConflict);  // under way
  ledger_.outcome_unknown("p", clock_.now() + 70s);
  EXPECT_EQ(ledger_.assume(pod("p", 600), 5s).error().code, Errc::kConflict);
  EXPECT_EQ(ledger_.reserve(pod("p", 700), 5s).error().code, Errc::kConflict);
  ASSERT_TRUE(ledger_.assume(pod("p", 700), 5s));
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kAssumed);
  EXPECT_EQ(used(), 700);
}

TEST_F(LedgerUnknownOutcomeTest, IsForPodsWhoseBindIsUnderWay) {
  ledger_.outcome_unknown("no-such-pod", clock_.now() + 70s);
  ASSERT_TRUE(ledger_.reserve(pod("p", 300), 3s));
  ledger_.outcome_unknown("p", clock_.now() + 70s);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kReserved);
  ledger_.observe(pod("q", 300));
  ledger_.outcome_unknown("q", clock_.now() + 70s);
  EXPECT_EQ(ledger_.find("q")->phase, Phase::kConfirmed);
}

TEST_F(LedgerUnknownOutcomeTest, UnsettledIsWhatMayComeBackWithoutAPodEnding) {
  ASSERT_TRUE(ledger_.reserve(pod("reserved", 100), 3s));
  ASSERT_TRUE(ledger_.assume(pod("assumed", 100), 5s));
  ASSERT_TRUE(ledger_.assume(pod("unknown", 100), 5s));
  ledger_.outcome_unknown("unknown", clock_.now() + 70s);
  ASSERT_TRUE(ledger_.assume(pod("bound", 100), 5s));
  ASSERT_TRUE(ledger_.confirm("bound"));
  std::set<std::string> uids;
  for (const AllocationPtr& allocation : ledger_.unconfirmed()) uids.insert(allocation->pod_uid);
  EXPECT_EQ(uids, (std::set<std::string>{"assumed", "reserved", "unknown"}));
}

}  // namespace
}  // namespace tangram::model
