#include "model/ledger.hpp"

#include "tests/testing/builders.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tangram::model {
namespace {

using namespace std::chrono_literals;
using testing::card;
using testing::granted;
using testing::holding;
using testing::inventory;

constexpr auto kTtl = 30s;

/// What the books say, apart from version numbers: equal before and after a refused operation.
struct Books {
  std::shared_ptr<const ClusterSnapshot> snapshot;
  std::size_t pods = 0;
  std::size_t assumed = 0;
  friend bool operator==(const Books&, const Books&) = default;  // the same pointer, not a copy
};

/// One node "n" with two cards of 1000 MiB, so that a thousandth of a card is 1 MiB.
class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { ledger_.put_node(two_cards()); }

  static NodeInventory two_cards() {
    return inventory("n", {card("a", "T4", Mebibytes(1000)), card("b", "T4", Mebibytes(1000))});
  }

  /// A pod that holds `milli` thousandths of a card of node "n".
  static Holding pod(const std::string& uid, std::int64_t milli = 400,
                     const std::string& on = "a") {
    return holding(uid, "n", {granted(on, milli, milli)});
  }

  Books books() {
    return {.snapshot = ledger_.snapshot(),
            .pods = ledger_.pod_count(),
            .assumed = ledger_.assumed_count()};
  }

  const NodeState& node(const std::string& name = "n") {
    seen_ = ledger_.snapshot();
    for (const NodeState* known : seen_->sorted_nodes()) {  // also those that are not present
      if (known->name == name) return *known;
    }
    throw std::logic_error("no node " + name);
  }

  const CardUse& use(std::size_t card_index) { return node().use.at(card_index); }

  /// "a b": the pods that overdue() names now.
  std::string overdue() {
    std::string uids;
    for (const Ledger::Late& late : ledger_.overdue(100)) {
      uids += (uids.empty() ? "" : " ") + late.holding->pod_uid;
    }
    return uids;
  }

  testing::ManualClock clock_;
  Ledger ledger_{clock_};
  std::shared_ptr<const ClusterSnapshot> seen_;
};

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
  const Books before = books();
  EXPECT_TRUE(ledger_.confirm("p"));
  EXPECT_EQ(books(), before);
  EXPECT_TRUE(ledger_.find("p")->observed);
}

struct EndCase {
  std::string name;
  std::function<void(Ledger&, const Holding&)> begin;
};
void PrintTo(const EndCase& row, std::ostream* out) { *out << row.name; }

void assume_it(Ledger& ledger, const Holding& pod) { EXPECT_TRUE(ledger.assume(pod, kTtl)); }
void confirm_it(Ledger& ledger, const Holding& pod) {
  assume_it(ledger, pod);
  EXPECT_TRUE(ledger.confirm(pod.pod_uid));
}
void observe_it(Ledger& ledger, const Holding& pod) { ledger.observe(pod); }
void assume_and_observe_it(Ledger& ledger, const Holding& pod) {
  assume_it(ledger, pod);
  ledger.observe(pod);
}

class LedgerReleaseTest : public LedgerTest, public ::testing::WithParamInterface<EndCase> {};

TEST_P(LedgerReleaseTest, GivesEverythingBackExactlyOnce) {
  GetParam().begin(ledger_, pod("p"));
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_EQ(use(0), CardUse{});
  EXPECT_TRUE(node().holdings.empty());
  EXPECT_EQ(ledger_.find("p"), nullptr);
  const Books before = books();
  EXPECT_EQ(before.assumed, 0U);
  EXPECT_EQ(before.pods, 0U);
  EXPECT_FALSE(ledger_.release("p"));
  EXPECT_EQ(books(), before);
}

// A bind that was answered late must not bring back a pod that ended meanwhile.
TEST_P(LedgerReleaseTest, ConfirmAfterwardsIsRefused) {
  GetParam().begin(ledger_, pod("p"));
  ASSERT_TRUE(ledger_.release("p"));
  const Books before = books();
  const auto late = ledger_.confirm("p");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kNotFound);
  EXPECT_EQ(books(), before);
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
  const Books before = books();
  EXPECT_FALSE(ledger_.release("nobody"));
  EXPECT_EQ(books(), before);
}

// ---- refused bookings ----

struct RefusedCase {
  std::string name;
  std::function<void(Ledger&)> before = [](Ledger& /*ledger*/) {};
  Holding wanted;
  Errc expected = Errc::kStale;
};
void PrintTo(const RefusedCase& row, std::ostream* out) { *out << row.name; }

class LedgerRefusalTest : public LedgerTest, public ::testing::WithParamInterface<RefusedCase> {
 public:
  using LedgerTest::pod;  // for the rows
  using LedgerTest::two_cards;
};

TEST_P(LedgerRefusalTest, LeavesTheBooksAsTheyWere) {
  GetParam().before(ledger_);
  const Books before = books();
  const auto refused = ledger_.assume(GetParam().wanted, kTtl);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, GetParam().expected) << refused.error().message;
  EXPECT_FALSE(refused.error().message.empty());
  EXPECT_EQ(books(), before);
}

std::function<void(Ledger&)> observing(const Holding& pod) {
  return [pod](Ledger& ledger) { ledger.observe(pod); };
}

std::function<void(Ledger&)> with_first_card(const std::function<void(Card&)>& change) {
  return [change](Ledger& ledger) {
    NodeInventory changed = LedgerRefusalTest::two_cards();
    change(changed.cards[0]);
    ledger.put_node(changed);
  };
}

Holding in_mode(Isolation mode, Holding pod) {
  pod.isolation = mode;
  return pod;
}

INSTANTIATE_TEST_SUITE_P(
    Assume, LedgerRefusalTest,
    ::testing::Values(
        RefusedCase{.name = "NodeNeverSeen",
                    .wanted = holding("p", "elsewhere", {}),
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
                    .wanted = holding("p", "n", {granted("a", 1001, 1)})},
        RefusedCase{.name = "WholeCardInUse",
                    .before = observing(holding("q", "n", {granted("a", 0, 0)})),
                    .wanted = LedgerRefusalTest::pod("p", 1000)},
        RefusedCase{.name = "SecondCardIsFull",
                    .before = observing(LedgerRefusalTest::pod("q", 1000, "b")),
                    .wanted = holding("p", "n", {granted("a", 1, 1), granted("b", 1, 1)})},
        RefusedCase{.name = "ItsOwnPartsDoNotFitTogether",
                    .wanted = holding("p", "n", {granted("a", 600, 600), granted("a", 600, 600)})},
        RefusedCase{.name = "CardIsSick",
                    .before = with_first_card([](Card& c) { c.healthy = false; }),
                    .wanted = LedgerRefusalTest::pod("p")},
        RefusedCase{.name = "CardIsCordoned",
                    .before = with_first_card([](Card& c) { c.cordoned = true; }),
                    .wanted = LedgerRefusalTest::pod("p", 1000)},
        RefusedCase{.name = "CardLostItsMode",
                    .before = with_first_card([](Card& c) { c.isolation = {Isolation::kNone}; }),
                    .wanted = LedgerRefusalTest::pod("p")},
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
  const Books before = books();
  const auto refused = ledger_.confirm("nobody");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_EQ(books(), before);
}

// ---- deadlines ----

TEST_F(LedgerTest, OverdueNamesALatePodOnceEachTtlAndNeverReleasesIt) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  clock_.advance(kTtl - 1ms);
  EXPECT_EQ(overdue(), "");
  clock_.advance(1ms);
  const Books before = books();
  EXPECT_EQ(overdue(), "p");
  EXPECT_EQ(overdue(), "");
  clock_.advance(kTtl - 1ms);
  EXPECT_EQ(overdue(), "");
  clock_.advance(1ms);
  EXPECT_EQ(overdue(), "p");
  clock_.advance(100 * kTtl);
  EXPECT_EQ(overdue(), "p");  // however many deadlines went by
  EXPECT_EQ(books(), before);
}

TEST_F(LedgerTest, APodThatIsConfirmedButNotObservedIsStillAskedAfter) {
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ASSERT_TRUE(ledger_.confirm("p"));
  clock_.advance(kTtl);
  EXPECT_EQ(overdue(), "p");
}

TEST_F(LedgerTest, ObservedAndReleasedPodsAreNeverLate) {
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

TEST_F(LedgerTest, APodBookedAnewHasANewDeadline) {
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

// ---- what the API server shows ----

TEST_F(LedgerTest, AnObservedGrantReplacesADifferentAssumedOne) {
  ASSERT_TRUE(ledger_.assume(pod("p", 400, "a"), kTtl));
  ledger_.observe(pod("p", 300, "b"));
  EXPECT_EQ(use(0), CardUse{});
  EXPECT_EQ(use(1).compute, MilliGpu(300));
  EXPECT_EQ(ledger_.pod_count(), 1U);
  EXPECT_EQ(ledger_.assumed_count(), 0U);
}

TEST_F(LedgerTest, AnObservedGrantOnAnotherNodeMovesThePod) {
  ledger_.put_node(inventory("m", {card("z")}));
  ASSERT_TRUE(ledger_.assume(pod("p"), kTtl));
  ledger_.observe(holding("p", "m", {granted("z", 7, 7)}));
  EXPECT_EQ(node("n").use[0], CardUse{});
  EXPECT_TRUE(node("n").holdings.empty());
  EXPECT_EQ(node("m").use[0].memory, Mebibytes(7));
}

TEST_F(LedgerTest, ADuplicateEventChangesNothing) {
  ledger_.observe(pod("p"));
  const Books before = books();
  ledger_.observe(pod("p"));
  EXPECT_EQ(books(), before);
}

TEST_F(LedgerTest, OverGrantedCardsAreCountedAsTheyAre) {
  ledger_.observe(pod("p", 700));
  ledger_.observe(pod("q", 700));
  EXPECT_EQ(use(0).compute, MilliGpu(1400));
  EXPECT_EQ(free_memory(node().cards()[0], use(0)), Mebibytes{});
  EXPECT_EQ(free_compute(node().cards()[0], use(0)), MilliGpu{});
  ledger_.release("p");
  EXPECT_EQ(free_memory(node().cards()[0], use(0)), Mebibytes(300));
}

TEST_F(LedgerTest, ARecreatedPodOfTheSameNameIsAnotherPod) {
  Holding first = pod("uid-1", 600);
  Holding second = pod("uid-2", 300);
  first.pod_name = second.pod_name = "train";
  ledger_.observe(first);
  ASSERT_TRUE(ledger_.assume(second, kTtl));
  EXPECT_EQ(use(0).compute, MilliGpu(900));
  EXPECT_TRUE(ledger_.release("uid-1"));  // the old one's end comes late
  EXPECT_EQ(use(0).compute, MilliGpu(300));
  EXPECT_NE(ledger_.find("uid-2"), nullptr);
}

TEST_F(LedgerTest, RetainReleasesWhatEndedUnseenAndNothingElse) {
  ledger_.observe(pod("stays", 100));
  ledger_.observe(pod("gone-2", 100));
  ledger_.observe(pod("gone-1", 200));
  ASSERT_TRUE(ledger_.assume(pod("binding", 100), kTtl));
  ASSERT_TRUE(ledger_.assume(pod("bound after the list", 100), kTtl));
  ASSERT_TRUE(ledger_.confirm("bound after the list"));
  const auto ended = ledger_.retain_observed(
      [](const std::string& uid) { return uid == "stays" || uid == "somebody else"; });
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0]->pod_uid, "gone-1");
  EXPECT_EQ(ended[1]->pod_uid, "gone-2");
  EXPECT_EQ(use(0).compute, MilliGpu(300));
  EXPECT_EQ(ledger_.pod_count(), 3U);
  EXPECT_TRUE(
      ledger_.retain_observed([](const std::string& uid) { return uid == "stays"; }).empty());
}

TEST_F(LedgerTest, PodsWithoutCardsTakeCpuAndMemory) {
  Holding plain = holding("p", "n", {});
  plain.footprint = {.cpu = MilliCpu(63'000), .memory = Mebibytes(1024)};
  ASSERT_TRUE(ledger_.assume(plain, kTtl));
  EXPECT_EQ(node().free_cpu(), MilliCpu(1000));
  EXPECT_EQ(node().free_memory(), Mebibytes(524'288 - 1024));
  plain.pod_uid = "q";
  ledger_.observe(plain);
  EXPECT_EQ(node().requested.cpu, MilliCpu(126'000));
  EXPECT_EQ(node().free_cpu(), MilliCpu{});  // never negative
  ledger_.release("p");
  EXPECT_EQ(node().requested, plain.footprint);
}

TEST_F(LedgerTest, HoldingsStandByUid) {
  for (const char* uid : {"m", "z", "a", "k"}) ledger_.observe(pod(uid, 1));
  ledger_.release("k");
  std::string uids;
  for (const HoldingPtr& held : node().holdings) uids += held->pod_uid;
  EXPECT_EQ(uids, "amz");
}

// ---- nodes and cards that come and go under their pods ----

TEST_F(LedgerTest, ANodeThatLeftKeepsItsPodsUntilTheyEnd) {
  ledger_.observe(pod("p"));
  ledger_.remove_node("n");
  EXPECT_EQ(ledger_.snapshot()->find("n"), nullptr);
  EXPECT_FALSE(node().present);
  EXPECT_EQ(node().stray_grants, 1);
  EXPECT_TRUE(node().cards().empty());
  ASSERT_TRUE(ledger_.release("p"));
  EXPECT_EQ(ledger_.snapshot()->node_count(), 0U);
}

TEST_F(LedgerTest, ANodeThatComesBackStillHasItsPods) {
  Holding held = pod("p");
  held.footprint = {.cpu = MilliCpu(500), .memory = Mebibytes(64)};
  ledger_.observe(held);
  ledger_.remove_node("n");
  EXPECT_EQ(node().requested, held.footprint);
  ledger_.put_node(two_cards());
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  EXPECT_EQ(node().stray_grants, 0);
  EXPECT_EQ(node().requested, held.footprint);
}

TEST_F(LedgerTest, ANodeThatComesBackWithOtherCardsHasStrayGrants) {
  ledger_.observe(pod("p"));
  ledger_.remove_node("n");
  ledger_.put_node(inventory("n", {card("new")}));
  EXPECT_TRUE(use(0).idle());
  EXPECT_EQ(node().stray_grants, 1);
  ASSERT_TRUE(ledger_.release("p"));
  EXPECT_EQ(node().stray_grants, 0);
}

TEST_F(LedgerTest, APodSeenBeforeItsNodeCountsOnceTheNodeCame) {
  ledger_.observe(holding("p", "late", {granted("z", 7, 7)}));
  EXPECT_EQ(ledger_.snapshot()->find("late"), nullptr);
  EXPECT_EQ(node("late").stray_grants, 1);
  ledger_.put_node(inventory("late", {card("y"), card("z")}));
  EXPECT_EQ(node("late").use[1].memory, Mebibytes(7));
  EXPECT_EQ(node("late").stray_grants, 0);
}

TEST_F(LedgerTest, AnUnknownOrGoneNodeIsRemovedForNothing) {
  ledger_.observe(pod("p"));
  ledger_.remove_node("n");
  const Books before = books();
  ledger_.remove_node("n");
  ledger_.remove_node("elsewhere");
  EXPECT_EQ(books(), before);
}

TEST_F(LedgerTest, TheSameInventoryAgainChangesNothing) {
  const Books before = books();
  ledger_.put_node(two_cards());
  EXPECT_EQ(books(), before);
}

TEST_F(LedgerTest, ACardThatVanishedComesBackWithItsPods) {
  ledger_.observe(pod("p", 400, "a"));
  ledger_.observe(pod("q", 300, "b"));
  NodeInventory one_card = two_cards();
  one_card.cards.erase(one_card.cards.begin());
  ledger_.put_node(one_card);
  EXPECT_EQ(node().stray_grants, 1);
  EXPECT_EQ(use(0).compute, MilliGpu(300));  // "b" stands first now
  ledger_.put_node(two_cards());
  EXPECT_EQ(node().stray_grants, 0);
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  EXPECT_EQ(use(1).compute, MilliGpu(300));
}

TEST_F(LedgerTest, ACardThatShrankBelowItsGrantsHasNothingFree) {
  ledger_.observe(pod("p", 400));
  NodeInventory shrunk = two_cards();
  shrunk.cards[0].memory = Mebibytes(300);
  ledger_.put_node(shrunk);
  EXPECT_EQ(use(0).memory, Mebibytes(400));
  EXPECT_EQ(free_memory(node().cards()[0], use(0)), Mebibytes{});
  EXPECT_EQ(free_compute(node().cards()[0], use(0)), MilliGpu(600));
  const Books before = books();
  EXPECT_FALSE(ledger_.assume(pod("q", 1), kTtl));
  EXPECT_EQ(books(), before);
}

TEST_F(LedgerTest, RunningPodsStayOnASickCard) {
  ledger_.observe(pod("p"));
  NodeInventory sick = two_cards();
  sick.cards[0].healthy = false;
  ledger_.put_node(sick);
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  ledger_.observe(pod("bound before", 100));  // another one that the watch shows late
  EXPECT_EQ(use(0).compute, MilliGpu(500));
}

TEST_F(LedgerTest, MigInstancesAreCardsBesidePhysicalOnes) {
  Card instance = card("MIG-1", "A100 1g.10gb", Mebibytes(9728));
  instance.kind = CardKind::kMig;
  instance.parent = "GPU-0";
  instance.isolation = {Isolation::kNone};
  ledger_.put_node(inventory("mig", {card("GPU-1"), instance}));
  ASSERT_TRUE(ledger_.assume(
      holding("p", "mig", {granted("GPU-1", 40'960, 500), granted("MIG-1", 9728, 1000)}), kTtl));
  EXPECT_EQ(node("mig").use[0].compute, MilliGpu(500));
  EXPECT_EQ(node("mig").use[1].compute, kWholeGpu);
  EXPECT_EQ(free_memory(node("mig").cards()[1], node("mig").use[1]), Mebibytes{});
}

// ---- one isolation mode at a time, so many sharers ----

TEST_F(LedgerTest, TheFirstSharerSetsTheModeUntilTheCardIsIdle) {
  ASSERT_TRUE(ledger_.assume(in_mode(Isolation::kTimeSlice, pod("first", 100)), kTtl));
  ASSERT_TRUE(ledger_.assume(in_mode(Isolation::kTimeSlice, pod("second", 100)), kTtl));
  EXPECT_FALSE(ledger_.assume(in_mode(Isolation::kMps, pod("other", 100)), kTtl));
  EXPECT_TRUE(ledger_.assume(in_mode(Isolation::kMps, pod("elsewhere", 100, "b")), kTtl));
  ledger_.release("first");
  EXPECT_FALSE(ledger_.assume(in_mode(Isolation::kMps, pod("other", 100)), kTtl));
  ledger_.release("second");
  EXPECT_TRUE(ledger_.assume(in_mode(Isolation::kMps, pod("other", 100)), kTtl));
}

TEST_F(LedgerTest, AWholeCardNeedsNoEnforcer) {
  NodeInventory plain = two_cards();
  plain.cards[0].isolation = {Isolation::kNone};
  ledger_.put_node(plain);
  EXPECT_TRUE(ledger_.assume(in_mode(Isolation::kMps, pod("p", 1000)), kTtl));
}

TEST_F(LedgerTest, ACardTakesExactlyMaxSharers) {
  NodeInventory three = two_cards();
  three.cards[0].max_sharers = 3;
  ledger_.put_node(three);
  for (const char* uid : {"1", "2", "3"}) EXPECT_TRUE(ledger_.assume(pod(uid, 1), kTtl)) << uid;
  const Books before = books();
  EXPECT_FALSE(ledger_.assume(pod("4", 1), kTtl));
  EXPECT_EQ(books(), before);
  ledger_.release("2");
  EXPECT_TRUE(ledger_.assume(pod("4", 1), kTtl));
}

}  // namespace
}  // namespace tangram::model
