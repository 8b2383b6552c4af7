// The Ledger and a cluster that changes by itself: what the API server shows, nodes and cards that
// come and go, cards that are shared.

#include "tests/model/ledger_fixture.hpp"

#include <set>

namespace tangram::model {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;

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
  ledger_.observe(allocation("p", "m", {granted("z", 7, 7)}));
  EXPECT_EQ(node("n").use[0], CardUse{});
  EXPECT_TRUE(node("n").allocations.empty());
  EXPECT_EQ(node("m").use[0].memory, Mebibytes(7));
}

TEST_F(LedgerTest, ADuplicateEventChangesNothing) {
  ledger_.observe(pod("p"));
  const SharedLedger before = ledger();
  ledger_.observe(pod("p"));
  EXPECT_EQ(ledger(), before);
}

TEST_F(LedgerTest, NewPodsOfANodeAreBookedAtOnce) {
  const auto seen = [](Allocation allocation) {
    return std::make_shared<const Allocation>(std::move(allocation));
  };
  const std::uint64_t before = node().version;
  ledger_.observe_new({{seen(pod("q", 300)), true, "2026-01-01T00:00:00Z"},
                       {seen(pod("p", 200, "b")), false, ""},
                       {seen(pod("o", 100)), false, ""}});
  EXPECT_EQ(node().version, before + 1);
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  EXPECT_EQ(use(1).compute, MilliGpu(200));
  EXPECT_EQ(node().allocations[0]->pod_uid, "o");
  EXPECT_TRUE(ledger_.find("q")->is_signed && ledger_.find("q")->observed);
  EXPECT_EQ(ledger_.find("q")->issued_at, "2026-01-01T00:00:00Z");
  EXPECT_FALSE(ledger_.find("p")->is_signed);
  EXPECT_EQ(overdue(), "");
  ledger_.observe_new({});
  EXPECT_TRUE(ledger_.release("o"));
  EXPECT_EQ(use(0).compute, MilliGpu(300));
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
  Allocation first = pod("uid-1", 600);
  Allocation second = pod("uid-2", 300);
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
  Allocation plain = allocation("p", "n", {});
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
  for (const AllocationPtr& each : node().allocations) uids += each->pod_uid;
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
  Allocation allocated = pod("p");
  allocated.footprint = {.cpu = MilliCpu(500), .memory = Mebibytes(64)};
  ledger_.observe(allocated);
  ledger_.remove_node("n");
  EXPECT_EQ(node().requested, allocated.footprint);
  ledger_.put_node(two_cards());
  EXPECT_EQ(use(0).compute, MilliGpu(400));
  EXPECT_EQ(node().stray_grants, 0);
  EXPECT_EQ(node().requested, allocated.footprint);
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
  ledger_.observe(allocation("p", "late", {granted("z", 7, 7)}));
  EXPECT_EQ(ledger_.snapshot()->find("late"), nullptr);
  EXPECT_EQ(node("late").stray_grants, 1);
  ledger_.put_node(inventory("late", {card("y"), card("z")}));
  EXPECT_EQ(node("late").use[1].memory, Mebibytes(7));
  EXPECT_EQ(node("late").stray_grants, 0);
}

TEST_F(LedgerTest, AnUnknownOrGoneNodeIsRemovedForNothing) {
  ledger_.observe(pod("p"));
  ledger_.remove_node("n");
  const SharedLedger before = ledger();
  ledger_.remove_node("n");
  ledger_.remove_node("elsewhere");
  EXPECT_EQ(ledger(), before);
}

TEST_F(LedgerTest, TheSameInventoryAgainChangesNothing) {
  const SharedLedger before = ledger();
  ledger_.put_node(two_cards());
  EXPECT_EQ(ledger(), before);
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
  const SharedLedger before = ledger();
  EXPECT_FALSE(ledger_.assume(pod("q", 1), kTtl));
  EXPECT_EQ(ledger(), before);
}

/// Drivers report more or less memory after an upgrade.
TEST_F(LedgerTest, NobodyJoinsAWholeCardThatGrew) {
  GrantedCard alone = granted("z", 1000, 1000);
  alone.whole = true;
  ledger_.put_node(inventory("m", {card("z", "T4", Mebibytes(1000))}));
  ASSERT_TRUE(ledger_.assume(allocation("p", "m", {alone}), kTtl));
  ledger_.put_node(inventory("m", {card("z", "T4", Mebibytes(1064))}));
  EXPECT_EQ(free_memory(node("m").cards()[0], node("m").use[0]), Mebibytes{});
  const auto joined = ledger_.assume(allocation("q", "m", {granted("z", 32, 0)}), kTtl);
  EXPECT_EQ(joined.error().code, Errc::kStale);
  ledger_.release("p");
  EXPECT_TRUE(ledger_.assume(allocation("q", "m", {granted("z", 32, 0)}), kTtl));
}

TEST_F(LedgerTest, APartOfAWholeCardIsOverGranted) {
  GrantedCard alone = granted("z", 1000, 1000);
  alone.whole = true;
  ledger_.put_node(inventory("m", {card("z", "T4", Mebibytes(1064))}));
  ledger_.observe(allocation("p", "m", {alone}));
  EXPECT_FALSE(over_granted(node("m").cards()[0], node("m").use[0]));
  ledger_.observe(allocation("q", "m", {granted("z", 32, 0)}));  // another writer's
  EXPECT_TRUE(over_granted(node("m").cards()[0], node("m").use[0]));
}

TEST_F(LedgerTest, RunningPodsStayOnASickCard) {
  ledger_.observe(pod("p"));
  NodeInventory unhealthy = two_cards();
  unhealthy.cards[0].healthy = false;
  ledger_.put_node(unhealthy);
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
      allocation("p", "mig", {granted("GPU-1", 40'960, 500), granted("MIG-1", 9728, 1000)}), kTtl));
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
  const SharedLedger before = ledger();
  EXPECT_FALSE(ledger_.assume(pod("4", 1), kTtl));
  EXPECT_EQ(ledger(), before);
  ledger_.release("2");
  EXPECT_TRUE(ledger_.assume(pod("4", 1), kTtl));
}

}  // namespace
}  // namespace tangram::model
