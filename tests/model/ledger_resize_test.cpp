#include "tests/model/ledger_fixture.hpp"

namespace tangram::model {
namespace {

/// A revision of pod("uid", former): now with these thousandths of the card.
Allocation revised(const std::string& uid, int revision, std::int64_t milli, std::int64_t former,
                   const std::string& on = "a") {
  GrantedCard part = testing::granted(on, milli, milli);
  part.former = testing::granted(on, former, former).amounts();
  Allocation allocation = testing::allocation(uid, "n", {part});
  allocation.revision = revision;
  return allocation;
}

class LedgerResizeTest : public LedgerTest {
 protected:
  LedgerResizeTest() { ledger_.observe(pod("p", 400)); }

  /// The node's agent has applied this revision of the pod's grant.
  void applied(const std::string& uid, int revision) {
    NodeInventory node = two_cards();
    node.resizes[uid].applied = revision;
    ledger_.put_node(node);
  }
  std::int64_t milli() { return use(0).compute.count(); }
};

TEST_F(LedgerResizeTest, AGrownPodHoldsMoreAtOnce) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
  EXPECT_EQ(milli(), 700);
  ledger_.observe(revised("p", 1, 700, 400));
  EXPECT_EQ(milli(), 700);
  applied("p", 1);
  EXPECT_EQ(milli(), 700);
}

TEST_F(LedgerResizeTest, AShrunkPodHoldsItsFormerAmountsUntilTheAgentHasAppliedIt) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 100, 400)));
  EXPECT_EQ(milli(), 400);
  ledger_.observe(revised("p", 1, 100, 400));
  EXPECT_EQ(milli(), 400);
  ASSERT_FALSE(ledger_.assume(pod("q", 700), kTtl));
  applied("p", 0);
  EXPECT_EQ(milli(), 400);
  applied("p", 1);
  EXPECT_EQ(milli(), 100);
  EXPECT_TRUE(ledger_.assume(pod("q", 900), kTtl));
}

TEST_F(LedgerResizeTest, EachAmountCountsByItself) {
  Allocation less_memory = revised("p", 1, 100, 400);
  less_memory.containers[0].cards[0].compute = MilliGpu(900);
  less_memory.containers[0].cards[0].compute_limit = MilliGpu(900);
  ASSERT_TRUE(ledger_.resize(less_memory));
  EXPECT_EQ(use(0).memory, Mebibytes(400));
  EXPECT_EQ(use(0).compute, MilliGpu(900));
}

TEST_F(LedgerResizeTest, GrowsOnlyIntoFreeRoom) {
  ledger_.observe(pod("q", 300));
  const auto before = ledger();
  const auto refused = ledger_.resize(revised("p", 1, 701, 400));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kStale);
  EXPECT_EQ(ledger(), before);
  EXPECT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
}

TEST_F(LedgerResizeTest, RoomOfAReservationIsNotFree) {
  ASSERT_TRUE(ledger_.reserve(pod("q", 300), kTtl));
  EXPECT_FALSE(ledger_.resize(revised("p", 1, 701, 400)));
}

TEST_F(LedgerResizeTest, ShrinksOnACardThatIsOverGranted) {
  ledger_.observe(pod("q", 900));
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 100, 400)));
  applied("p", 1);
  EXPECT_EQ(milli(), 1000);
}

TEST_F(LedgerResizeTest, AShrunkPodDoesNotGrowIntoRoomThatWasGiven) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 100, 400)));
  ledger_.observe(revised("p", 1, 100, 400));
  applied("p", 1);
  ledger_.observe(pod("q", 900));
  EXPECT_FALSE(ledger_.resize(revised("p", 2, 400, 100)));
}

TEST_F(LedgerResizeTest, OneResizeAtATime) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 500, 400)));
  const auto second = ledger_.resize(revised("p", 2, 600, 500));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
  ledger_.observe(revised("p", 1, 500, 400));
  EXPECT_TRUE(ledger_.resize(revised("p", 2, 600, 500)));
}

TEST_F(LedgerResizeTest, NeverToAnEarlierRevision) {
  ledger_.observe(revised("p", 3, 500, 400));
  for (const int revision : {2, 3}) {
    const auto refused = ledger_.resize(revised("p", revision, 100, 500));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kConflict);
  }
}

TEST_F(LedgerResizeTest, OnlyOfABoundPodOfThatNode) {
  ASSERT_TRUE(ledger_.assume(pod("q", 100), kTtl));
  for (const char* uid : {"q", "unknown"}) {
    const auto refused = ledger_.resize(revised(uid, 1, 200, 100));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kNotFound);
  }
  Allocation elsewhere = revised("p", 1, 200, 400);
  elsewhere.node = "m";
  EXPECT_EQ(ledger_.resize(elsewhere).error().code, Errc::kNotFound);
  ledger_.remove_node("n");
  EXPECT_EQ(ledger_.resize(revised("p", 1, 200, 400)).error().code, Errc::kNotFound);
}

TEST_F(LedgerResizeTest, NotOnACardThatIsGone) {
  ledger_.put_node(testing::inventory("n", {testing::card("b", "T4", Mebibytes(1000))}));
  EXPECT_EQ(ledger_.resize(revised("p", 1, 200, 400)).error().code, Errc::kStale);
}

TEST_F(LedgerResizeTest, AnEarlierRevisionThatTheWatchStillShowsChangesNoAmount) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
  Allocation before = pod("p", 400);
  before.terminating = true;
  ledger_.observe(before);
  EXPECT_EQ(milli(), 700);
  EXPECT_TRUE(ledger_.find("p")->allocation->terminating);
  ledger_.cancel_resize("p");
  EXPECT_EQ(milli(), 400);
  EXPECT_TRUE(ledger_.find("p")->allocation->terminating);
}

TEST_F(LedgerResizeTest, ACancelledResizeLeavesNothing) {
  const auto before = use(0);
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
  ledger_.cancel_resize("p");
  ledger_.cancel_resize("p");
  EXPECT_EQ(use(0), before);
  EXPECT_EQ(ledger_.find("p")->allocation->revision, 0);
  EXPECT_TRUE(ledger_.resize(revised("p", 1, 500, 400)));
}

TEST_F(LedgerResizeTest, WhatTheWatchHasShownIsNotCancelled) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
  ledger_.observe(revised("p", 1, 700, 400));
  ledger_.cancel_resize("p");
  EXPECT_EQ(milli(), 700);
}

TEST_F(LedgerResizeTest, APodThatEndsReleasesAll) {
  ASSERT_TRUE(ledger_.resize(revised("p", 1, 700, 400)));
  EXPECT_TRUE(ledger_.release("p"));
  EXPECT_TRUE(use(0).idle());
  EXPECT_EQ(milli(), 0);
  ledger_.cancel_resize("p");
  EXPECT_EQ(ledger_.find("p"), nullptr);
}

TEST_F(LedgerResizeTest, AnAgentThatLostItsAnswerMakesThePodHoldBothAgain) {
  ledger_.observe(revised("p", 1, 100, 400));
  applied("p", 1);
  EXPECT_EQ(milli(), 100);
  ledger_.put_node(two_cards());
  EXPECT_EQ(milli(), 400);
}

/// What the agent says that container "main" of pod "p" is held to.
NodeInventory held(NodeInventory node, int applied, std::int64_t milli,
                   const std::string& card = "a") {
  ResizeAnswer& answer = node.resizes["p"];
  answer.applied = applied;
  answer.held["main"][card] = testing::granted(card, milli, milli).amounts();
  return node;
}

TEST_F(LedgerResizeTest, APodHoldsWhatItsContainersAreHeldToWhateverItsGrantSays) {
  for (const int revision : {1, 2, 3}) {  // earlier, the same, and one that is not applied yet
    ledger_.release("p");
    ledger_.put_node(held(two_cards(), 2, 700));
    ledger_.observe(revised("p", revision, 100, 400));
    EXPECT_EQ(milli(), 700) << revision;
    EXPECT_FALSE(ledger_.assume(pod("q", 301), kTtl)) << revision;
  }
  ledger_.put_node(held(two_cards(), 3, 100));
  EXPECT_EQ(milli(), 100);
}

TEST_F(LedgerResizeTest, EachAmountThatIsHeldCountsByItself) {
  NodeInventory node = held(two_cards(), 2, 700);
  node.resizes["p"].held["main"]["a"].memory = Mebibytes(50);
  ledger_.put_node(node);
  EXPECT_EQ(use(0).compute, MilliGpu(700));
  EXPECT_EQ(use(0).memory, Mebibytes(400));
}

TEST_F(LedgerResizeTest, OnlyTheAmountsOfTheGrantsCardsAndContainersCount) {
  NodeInventory node = held(held(two_cards(), 2, 700, "b"), 2, 700, "gone");
  node.resizes["p"].held["another"]["a"] = testing::granted("a", 900, 900).amounts();
  ledger_.put_node(node);
  EXPECT_EQ(milli(), 400);
  EXPECT_TRUE(use(1).idle());
}

}  // namespace
}  // namespace tangram::model
