#include "tests/model/ledger_fixture.hpp"

#include <functional>
#include <ostream>
#include <vector>

namespace tangram::model {
namespace {

using namespace std::chrono_literals;
using testing::allocation;
using testing::granted;

// ---- the drawn state machine ----

TEST_F(LedgerTest, AssumeBooksThePod) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  EXPECT_EQ(use(0).memory, Mebibytes(400));
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  EXPECT_EQ(use(0).sharer_count(), 1);
  EXPECT_TRUE(use(1).idle());
  EXPECT_EQ(ledger_.assumed_count(), 1U);
  ASSERT_NE(ledger_.find("p"), nullptr);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kAssumed);
  EXPECT_FALSE(ledger_.find("p")->observed);
}

TEST_F(LedgerTest, ConfirmEndsTheBindAndKeepsTheBooks) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  const auto before = ledger_.snapshot();
  ASSERT_TRUE(ledger_.confirm("p"));
  EXPECT_EQ(ledger_.snapshot(), before);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kConfirmed);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
  ASSERT_TRUE(ledger_.confirm("p"));  // an answer that comes twice
  EXPECT_EQ(ledger_.assumed_count(), 0U);
}

TEST_F(LedgerTest, ConfirmNotesTheGrantUnlessTheWatchHasShownOne) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ASSERT_TRUE(ledger_.confirm("p", true, "2026-01-01T00:00:00Z"));
  EXPECT_EQ(ledger_.find("p")->issued_at, "2026-01-01T00:00:00Z");
  EXPECT_TRUE(ledger_.find("p")->is_signed);
  ASSERT_TRUE(ledger_.confirm("p"));
  EXPECT_EQ(ledger_.find("p")->issued_at, "2026-01-01T00:00:00Z");
  ledger_.observe(std::make_shared<const Allocation>(pod("p")), false, "2026-02-02T00:00:00Z");
  ASSERT_TRUE(ledger_.confirm("p", true, "2026-01-01T00:00:00Z"));
  EXPECT_EQ(ledger_.find("p")->issued_at, "2026-02-02T00:00:00Z");
  EXPECT_FALSE(ledger_.find("p")->is_signed);
}

TEST_F(LedgerTest, ObserveBooksAPodThatNobodyAssumed) {
  ledger_.observe(pod("p"));
  EXPECT_EQ(use(0).memory, Mebibytes(400));
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kConfirmed);
  EXPECT_TRUE(ledger_.find("p")->observed);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
}

TEST_F(LedgerTest, ObserveConfirmsWhatWasAssumedAndChargesItOnce) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  const auto before = ledger_.snapshot();
  ledger_.observe(pod("p"));
  EXPECT_EQ(ledger_.snapshot(), before);
  EXPECT_EQ(ledger_.find("p")->phase, Phase::kConfirmed);
  EXPECT_TRUE(ledger_.find("p")->observed);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
}

TEST_F(LedgerTest, ConfirmAfterObserveChangesNothing) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ledger_.observe(pod("p"));
  const SharedLedger before = ledger();
  EXPECT_TRUE(ledger_.confirm("p"));
  EXPECT_EQ(ledger(), before);
  EXPECT_TRUE(ledger_.find("p")->observed);
}

struct EndCase {
  std::string name;
  std::function<void(Ledger&, const Allocation&)> begin;
};
void PrintTo(const EndCase& row, std::ostream* out) { *out << row.name; }

void assume_it(Ledger& ledger, const Allocation& pod) { EXPECT_TRUE(ledger.assume(pod, kTtl)); }
void confirm_it(Ledger& ledger, const Allocation& pod) {
  assume_it(ledger, pod);
  EXPECT_TRUE(ledger.confirm(pod.pod_uid));
}
void observe_it(Ledger& ledger, const Allocation& pod) { ledger.observe(pod); }
void assume_and_observe_it(Ledger& ledger, const Allocation& pod) {
  assume_it(ledger, pod);
  ledger.observe(pod);
}

class LedgerReleaseTest : public LedgerTest, public ::testing::WithParamInterface<EndCase> {};

TEST_P(LedgerReleaseTest, GivesEverythingBackExactlyOnce) {
  GetParam().begin(ledger_, pod("p"));
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_EQ(use(0), CardUse{});
  EXPECT_TRUE(node().allocations.empty());
  EXPECT_EQ(ledger_.find("p"), nullptr);
  const SharedLedger before = ledger();
  EXPECT_EQ(before.assumed, 0U);
  EXPECT_EQ(before.pods, 0U);
  EXPECT_FALSE(ledger_.release("p"));
  EXPECT_EQ(ledger(), before);
}

// A bind that was answered late must not bring back a pod that ended meanwhile.
TEST_P(LedgerReleaseTest, ConfirmAfterwardsIsRefused) {
  GetParam().begin(ledger_, pod("p"));
  ASSERT_TRUE(ledger_.release("p"));
  const SharedLedger before = ledger();
  const auto late = ledger_.confirm("p");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kNotFound);
  EXPECT_EQ(ledger(), before);
  EXPECT_EQ(ledger_.find("p"), nullptr);
}

TEST_P(LedgerReleaseTest, ThePodMayBeBookedAgain) {
  GetParam().begin(ledger_, pod("p"));
  ASSERT_TRUE(ledger_.release("p"));
  ASSERT_TRUE(ledger_.assume(pod("p", 1000, "b"), kTtl));
  EXPECT_TRUE(use(0).idle());
  EXPECT_EQ(use(1).compute, kWholeGpu);
}

INSTANTIATE_TEST_SUITE_P(FromEveryPhase, LedgerReleaseTest,
                         ::testing::Values(EndCase{"Assumed", assume_it},
                                           EndCase{"Confirmed", confirm_it},
                                           EndCase{"Observed", observe_it},
                                           EndCase{"AssumedAndObserved", assume_and_observe_it}),
                         [](const auto& row) { return row.param.name; });

TEST_F(LedgerTest, ReleaseOfAnUnknownPodDoesNothing) {
  const SharedLedger before = ledger();
  EXPECT_FALSE(ledger_.release("no-such-pod"));
  EXPECT_EQ(ledger(), before);
}

// ---- refused allocations ----

struct RefusedCase {
  std::string name;
  std::function<void(Ledger&)> before = [](Ledger& /*ledger*/) {};
  Allocation wanted;
  Errc expected = Errc::kStale;
};
void PrintTo(const RefusedCase& row, std::ostream* out) { *out << row.name; }

class LedgerRefusalTest : public LedgerTest, public ::testing::WithParamInterface<RefusedCase> {
 public:
  using LedgerTest::pod;  // for the rows
  using LedgerTest::two_cards;
};

TEST_P(LedgerRefusalTest, LeavesTheLedgerAsItWas) {
  GetParam().before(ledger_);
  const SharedLedger before = ledger();
  const auto refused = ledger_.assume(GetParam().wanted, kTtl);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, GetParam().expected) << refused.error().message;
  EXPECT_FALSE(refused.error().message.empty());
  EXPECT_EQ(ledger(), before);
}

std::function<void(Ledger&)> observing(const Allocation& pod) {
  return [pod](Ledger& ledger) { ledger.observe(pod); };
}

std::function<void(Ledger&)> with_first_card(const std::function<void(Card&)>& change) {
  return [change](Ledger& ledger) {
    NodeInventory changed = LedgerRefusalTest::two_cards();
    change(changed.cards[0]);
    ledger.put_node(changed);
  };
}

INSTANTIATE_TEST_SUITE_P(
    Assume, LedgerRefusalTest,
    ::testing::Values(
        RefusedCase{.name = "NodeNeverSeen",
                    .wanted = allocation("p", "elsewhere", {}),
                    .expected = Errc::kNotFound},
        RefusedCase{.name = "NodeLeft",
                    .before = [](Ledger& ledger) { ledger.remove_node("n"); },
                    .wanted = LedgerRefusalTest::pod("p"),
                    .expected = Errc::kNotFound},
        RefusedCase{.name = "NodeLeftWithPodsOnIt",
                    .before =
                        [](Ledger& ledger) {
                          ledger.observe(LedgerRefusalTest::pod("q"));
                          ledger.remove_node("n");
                        },
                    .wanted = LedgerRefusalTest::pod("p"),
                    .expected = Errc::kNotFound},
        RefusedCase{.name = "PodIsBookedAlready",
                    .before = observing(LedgerRefusalTest::pod("p", 1)),
                    .wanted = LedgerRefusalTest::pod("p", 1),
                    .expected = Errc::kConflict},
        RefusedCase{.name = "NoSuchCard", .wanted = LedgerRefusalTest::pod("p", 1, "c")},
        RefusedCase{.name = "OneMilliOverTheRest",
                    .before = observing(LedgerRefusalTest::pod("q", 600)),
                    .wanted = LedgerRefusalTest::pod("p", 401)},
        RefusedCase{.name = "LargerThanTheCard",
                    .wanted = allocation("p", "n", {granted("a", 1001, 1)})},
        RefusedCase{.name = "WholeCardInUse",
                    .before = observing(allocation("q", "n", {granted("a", 0, 0)})),
                    .wanted = LedgerRefusalTest::pod("p", 1000)},
        RefusedCase{.name = "SecondCardIsFull",
                    .before = observing(LedgerRefusalTest::pod("q", 1000, "b")),
                    .wanted = allocation("p", "n", {granted("a", 1, 1), granted("b", 1, 1)})},
        RefusedCase{
            .name = "ItsOwnPartsDoNotFitTogether",
            .wanted = allocation("p", "n", {granted("a", 600, 600), granted("a", 600, 600)})},
        RefusedCase{.name = "CardIsSick",
                    .before = with_first_card([](Card& c) { c.healthy = false; }),
                    .wanted = LedgerRefusalTest::pod("p")},
        RefusedCase{.name = "CardIsCordoned",
                    .before = with_first_card([](Card& c) { c.cordoned = true; }),
                    .wanted = LedgerRefusalTest::pod("p", 1000)},
        RefusedCase{.name = "CardLostItsMode",
                    .before = with_first_card([](Card& c) { c.isolation = {Isolation::kNone}; }),
                    .wanted = LedgerRefusalTest::pod("p")},
        RefusedCase{
            .name = "CardHasWeakerMemoryLimitsThanChosen",
            .before = with_first_card([](Card& c) { c.memory_limits = MemoryLimits::kMps; }),
            .wanted = limited_by(MemoryLimits::kLibrary, LedgerRefusalTest::pod("p"))},
        RefusedCase{
            .name = "MemoryLimitsByMpsInAnotherMode",
            .before = with_first_card([](Card& c) { c.memory_limits = MemoryLimits::kMps; }),
            .wanted = in_mode(Isolation::kNone,
                              limited_by(MemoryLimits::kMps, LedgerRefusalTest::pod("p")))},
        RefusedCase{.name = "CardRunsAnotherMode",
                    .before = observing(in_mode(Isolation::kNone, LedgerRefusalTest::pod("q"))),
                    .wanted = LedgerRefusalTest::pod("p")},
        RefusedCase{.name = "CardHasAllItsSharers",
                    .before =
                        [](Ledger& ledger) {
                          with_first_card([](Card& c) { c.max_sharers = 1; })(ledger);
                          ledger.observe(LedgerRefusalTest::pod("q", 1));
                        },
                    .wanted = LedgerRefusalTest::pod("p", 1)}),
    [](const auto& row) { return row.param.name; });

TEST_F(LedgerTest, ConfirmOfAnUnknownPodIsRefused) {
  const SharedLedger before = ledger();
  const auto refused = ledger_.confirm("no-such-pod");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_EQ(ledger(), before);
}

// ---- deadlines ----

TEST_F(LedgerTest, NamesAnOverduePodOnceEachTtlAndNeverReleasesIt) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  clock_.advance(kTtl - 1ms);
  EXPECT_EQ(overdue(), "");
  clock_.advance(1ms);
  const SharedLedger before = ledger();
  EXPECT_EQ(overdue(), "p");
  EXPECT_EQ(overdue(), "");
  clock_.advance(kTtl - 1ms);
  EXPECT_EQ(overdue(), "");
  clock_.advance(1ms);
  EXPECT_EQ(overdue(), "p");
  clock_.advance(100 * kTtl);
  EXPECT_EQ(overdue(), "p");  // however many deadlines went by
  EXPECT_EQ(ledger(), before);
}

TEST_F(LedgerTest, APodThatIsConfirmedButNotObservedIsStillAskedAfter) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ASSERT_TRUE(ledger_.confirm("p"));
  clock_.advance(kTtl);
  EXPECT_EQ(overdue(), "p");
}

TEST_F(LedgerTest, ObservedAndReleasedPodsAreNeverOverdue) {
  ASSERT_TRUE(ledger_.assume(pod("seen", 100), kTtl));
  ASSERT_TRUE(ledger_.assume(pod("ended", 100), kTtl));
  ASSERT_TRUE(ledger_.assume(pod("replaced", 100), kTtl));
  ledger_.observe(pod("seen", 100));
  ledger_.observe(pod("replaced", 200, "b"));
  ledger_.observe(pod("never assumed", 100));
  ledger_.release("ended");
  clock_.advance(10 * kTtl);
  EXPECT_EQ(overdue(), "");
}

TEST_F(LedgerTest, APodAssumedAgainHasANewDeadline) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  clock_.advance(10s);
  ledger_.release("p");
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  clock_.advance(20s);
  EXPECT_EQ(overdue(), "");
  clock_.advance(10s);
  EXPECT_EQ(overdue(), "p");
}

TEST_F(LedgerTest, APodBookedTwiceAtOneMomentIsNamedOnce) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ledger_.release("p");
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  clock_.advance(kTtl);
  EXPECT_EQ(overdue(), "p");
}

TEST_F(LedgerTest, LatePodsAreNamedByDeadline) {
  ASSERT_TRUE(ledger_.assume(pod("slow", 100), 3s));
  ASSERT_TRUE(ledger_.assume(pod("quick", 100), 1s));
  clock_.advance(5s);
  EXPECT_EQ(overdue(), "quick slow");
  clock_.advance(1s);
  EXPECT_EQ(overdue(), "quick");
}

}  // namespace
}  // namespace tangram::model
