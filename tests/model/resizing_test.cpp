#include "model/resizing.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

namespace tangram::model {
namespace {

using testing::fraction;
using testing::memory;
using testing::request;

constexpr Mebibytes kCard(10'000);

NodeState node_of(Mebibytes card = kCard) {
  return testing::node(
      testing::inventory("n", {testing::card("a", "T4", card), testing::card("b", "T4", card)}));
}

/// What a pod with this share of card "a" was granted.
std::vector<ContainerGrant> granted_for(const Share& share, int count = 1) {
  const Placement cards = count == 1 ? Placement{0} : Placement{0, 1};
  return grants_of(request(share, count), node_of(), cards);
}

/// A pod with these parts, of this revision.
Allocation pod(std::vector<ContainerGrant> granted, int revision = 0) {
  Allocation pod = testing::allocation("p", "n", {});
  pod.containers = std::move(granted);
  pod.revision = revision;
  return pod;
}
/// The node, whose agent has answered for the pod.
NodeState node_with(ResizeAnswer answer) {
  NodeInventory inventory = *node_of().inventory;
  inventory.resizes["p"] = std::move(answer);
  return testing::node(inventory);
}

bool asks_other(const Share& now, const std::vector<ContainerGrant>& granted,
                Mebibytes card = kCard) {
  const NodeState node = node_of(card);
  return asks_other_amounts(request(now, static_cast<int>(granted[0].cards.size())), granted, 0,
                            &node);
}

Share with_limit(Share share, std::int64_t mib) {
  share.memory_limit = Mebibytes(mib);
  return share;
}
Share with_compute(Share share, std::int64_t milli) {
  share.compute = MilliGpu(milli);
  return share;
}

TEST(ResizingTest, TheRequestThatWasGrantedAsksForNothing) {
  for (const Share& share :
       {fraction(500), memory(3000), with_compute(memory(3000), 700), with_compute(memory(3000), 0),
        with_limit(memory(3000), 4000), with_limit(memory(3000), 1 << 20), testing::whole()}) {
    EXPECT_FALSE(asks_other(share, granted_for(share)));
    EXPECT_FALSE(asks_other(share, granted_for(share), Mebibytes(9'960)));  // another driver
    EXPECT_FALSE(asks_other_amounts(request(share), granted_for(share), 0, nullptr));
  }
}

TEST(ResizingTest, EveryWrittenAmountCounts) {
  EXPECT_TRUE(asks_other(fraction(501), granted_for(fraction(500))));
  EXPECT_TRUE(asks_other(memory(3001), granted_for(memory(3000))));
  EXPECT_TRUE(
      asks_other(with_limit(memory(3000), 4001), granted_for(with_limit(memory(3000), 4000))));
  EXPECT_TRUE(asks_other(with_limit(memory(3000), 4000), granted_for(memory(3000))));
  EXPECT_TRUE(asks_other(memory(3000), granted_for(with_limit(memory(3000), 4000))));
  EXPECT_TRUE(
      asks_other(with_compute(memory(3000), 701), granted_for(with_compute(memory(3000), 700))));
}

TEST(ResizingTest, ARemovedAmountAndAnotherFormCount) {
  EXPECT_TRUE(asks_other(memory(3000), granted_for(with_compute(memory(3000), 700))));
  EXPECT_TRUE(asks_other(fraction(700), granted_for(with_compute(memory(3000), 700))));
}

TEST(ResizingTest, WithoutTheCardOnlyWrittenAmountsAreCompared) {
  EXPECT_TRUE(asks_other_amounts(request(memory(3001)), granted_for(memory(3000)), 0, nullptr));
  EXPECT_TRUE(asks_other_amounts(request(fraction(501)), granted_for(fraction(500)), 0, nullptr));
  EXPECT_FALSE(asks_other_amounts(request(memory(3000)),
                                  granted_for(with_compute(memory(3000), 700)), 0, nullptr));
}

TEST(ResizingTest, ASettingAsksForNothing) {
  const NodeState node = node_of();
  const auto by = [](int max_burst, std::int64_t limit) {
    return with_max_burst(request(with_limit(memory(1000), limit)), max_burst);
  };
  const auto asks = [&](const GpuRequest& now, const GpuRequest& before) {
    return asks_other_amounts(now, grants_of(before, node, {0}), max_burst_of(before), &node);
  };
  for (const int former : {0, 2, 4, 8}) {
    for (const int now : {0, 2, 4, 8}) {
      EXPECT_FALSE(asks(by(now, 6000), by(former, 6000))) << former << " to " << now;
    }
  }
  EXPECT_TRUE(asks(by(4, 3000), by(2, 1500)));
  EXPECT_FALSE(asks(by(2, 3000), by(2, 2500))) << "2000 by both";
  // Of grants that do not say by what they were made.
  EXPECT_FALSE(asks_other_amounts(by(2, 6000), grants_of(by(2, 6000), node, {0}), 0, &node));
}

TEST(ResizingTest, OnlyAmountsOfSharesCanChange) {
  const auto granted = granted_for(fraction(500));
  EXPECT_TRUE(same_shape(request(memory(100)), granted));
  EXPECT_FALSE(same_shape(request(fraction(500), 2), granted));
  EXPECT_FALSE(same_shape(request(testing::whole()), granted));
  EXPECT_FALSE(same_shape(request(fraction(1000)), granted));
  EXPECT_FALSE(same_shape(request(fraction(500)), granted_for(testing::whole())));
  EXPECT_FALSE(same_shape({}, granted));
  GpuRequest other = request(fraction(500));
  other.containers[0].container = "another";
  EXPECT_FALSE(same_shape(other, granted));
}

TEST(ResizingTest, ARevisionHasTheFormerAmounts) {
  const auto before = granted_for(memory(3000), 2);
  const auto after = resized(request(with_limit(memory(5000), 6000), 2), pod(before), node_of());
  ASSERT_EQ(after[0].cards.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const GrantedCard& part = after[0].cards[i];
    EXPECT_EQ(part.uuid, before[0].cards[i].uuid);
    EXPECT_EQ(part.amounts(),
              (CardAmounts{Mebibytes(5000), MilliGpu(500), Mebibytes(6000), MilliGpu(500)}));
    EXPECT_EQ(part.former, before[0].cards[i].amounts());
  }
  const auto back = taken_back(after);
  EXPECT_EQ(back[0].cards[1].amounts(), before[0].cards[1].amounts());
  EXPECT_EQ(back[0].cards[1].former, after[0].cards[1].amounts());
}

TEST(ResizingTest, WhatIsNotAppliedYetStaysFormerToo) {
  auto granted = resized(request(memory(5000)), pod(granted_for(memory(3000))), node_of());
  granted = resized(request(memory(1000)), pod(granted, 1), node_of());
  EXPECT_EQ(granted[0].cards[0].memory, Mebibytes(1000));
  EXPECT_EQ(granted[0].cards[0].former->memory, Mebibytes(5000));
  granted = resized(request(memory(4000)), pod(granted, 2), node_with({.applied = 1}));
  EXPECT_EQ(granted[0].cards[0].former->memory, Mebibytes(5000));
  granted = resized(request(memory(2000)), pod(granted, 3), node_with({.applied = 3}));
  EXPECT_EQ(granted[0].cards[0].former->memory, Mebibytes(4000));
}

TEST(ResizingTest, WhatTheContainersAreHeldToBecomesFormer) {
  const CardAmounts held{Mebibytes(6000), MilliGpu(100), Mebibytes(7000), MilliGpu(100)};
  const NodeState node = node_with({.applied = 2, .held = {{"main", {{"a", held}}}}});
  const auto next = resized(request(memory(5000)), pod(granted_for(memory(3000))), node);
  EXPECT_EQ(next[0].cards[0].memory, Mebibytes(5000));
  EXPECT_EQ(next[0].cards[0].former,
            (CardAmounts{Mebibytes(6000), MilliGpu(300), Mebibytes(7000), MilliGpu(300)}));
}

TEST(ResizingTest, ACardThatIsAwayKeepsItsAmounts) {
  const auto before = granted_for(memory(3000));
  const NodeState empty = testing::node(testing::inventory("n", {}));
  const auto after = resized(request(memory(5000)), pod(before), empty);
  EXPECT_EQ(after[0].cards[0].amounts(), before[0].cards[0].amounts());
}

}  // namespace
}  // namespace tangram::model
