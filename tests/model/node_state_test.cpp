#include "model/node_state.hpp"

#include "tests/testing/builders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tangram::model {
namespace {

using testing::allocation;
using testing::card;
using testing::granted;
using testing::inventory;
using testing::slice;

constexpr auto kMps = static_cast<std::size_t>(Isolation::kMps);
constexpr auto kNone = static_cast<std::size_t>(Isolation::kNone);

/// A node with the cards "a" and "b" that holds these pods.
NodeState node_with(const std::vector<Allocation>& pods) {
  NodeState node = testing::node(inventory("n", {card("a"), card("b")}));
  for (const Allocation& pod : pods) {
    node.allocations.push_back(std::make_shared<const Allocation>(pod));
    apply_allocation(node, pod, 1);
  }
  return node;
}

TEST(CardUseTest, CountsSharersByMode) {
  CardUse use;
  EXPECT_TRUE(use.idle());
  EXPECT_TRUE(use.mode_free_for(Isolation::kNone));
  charge(use, slice(10, 5), Isolation::kMps);
  charge(use, slice(10, 5), Isolation::kMps);
  EXPECT_EQ(use.sharers[kMps], 2);
  EXPECT_TRUE(use.mode_free_for(Isolation::kMps));
  EXPECT_FALSE(use.mode_free_for(Isolation::kNone));
  charge(use, slice(1, 1), Isolation::kNone);  // another writer's
  EXPECT_EQ(use.sharers[kNone], 1);
  EXPECT_FALSE(use.mode_free_for(Isolation::kMps));
  EXPECT_EQ(use.memory, Mebibytes(21));
  EXPECT_EQ(use.compute, MilliGpu(11));
}

TEST(CardUseTest, ChargingAndTakingBackLeavesNothing) {
  CardUse use;
  charge(use, slice(10, 5), Isolation::kTimeSlice);
  charge(use, slice(10, 5), Isolation::kTimeSlice, -1);
  EXPECT_EQ(use, CardUse{});
}

TEST(LookAlikeTest, NamesIdsAndLinksDoNotCount) {
  const NodeState one = node_with({allocation("p", "n", {granted("a", 10, 5)})});
  NodeState other = testing::node(inventory("m", {card("c"), card("d")}));
  NodeInventory linked = *other.inventory;
  linked.cards[0].links.push_back({.peer = "d", .type = "nvlink", .count = 4});
  linked.cards[0].numa_node = 1;
  other.equip(linked);
  apply_allocation(other, allocation("q", "m", {granted("c", 10, 5)}), 1);
  EXPECT_TRUE(look_alike(one, other));
  EXPECT_EQ(look_hash(one), look_hash(other));
}

TEST(LookAlikeTest, WhatDecidesAFitOrItsScoreCounts) {
  const NodeState one = node_with({});
  EXPECT_FALSE(look_alike(one, node_with({allocation("p", "n", {granted("a", 10, 5)})})));
  const auto with = [&](const auto& change) {
    NodeInventory what = *one.inventory;
    change(what);
    NodeState other = one;
    other.equip(std::move(what));
    return other;
  };
  EXPECT_TRUE(look_alike(one, with([](NodeInventory& what) { what.name = "m"; })));
  EXPECT_FALSE(look_alike(one, with([](NodeInventory& what) { what.cards[1].model = "H100"; })));
  EXPECT_FALSE(look_alike(one, with([](NodeInventory& what) {
                            for (Card& each : what.cards) each.model = "H100";
                          })));
  EXPECT_FALSE(look_alike(one, with([](NodeInventory& what) { what.cards[1].cordoned = true; })));
  EXPECT_FALSE(look_alike(one, with([](NodeInventory& what) { what.cpu += MilliCpu(1); })));
  NodeState busy = one;
  busy.requested.memory += Mebibytes(1);
  EXPECT_FALSE(look_alike(one, busy));
  NodeState gone = one;
  gone.present = false;
  EXPECT_FALSE(look_alike(one, gone));
}

TEST(NodeStateTest, KnowsWhichCardsAreLikeTheOneBefore) {
  Card unhealthy = testing::card("5", "A100");
  unhealthy.healthy = false;
  NodeState state;
  state.equip(testing::inventory(
      "n", {testing::card("0", "A100"), testing::card("1", "A100"), testing::card("2", "H100"),
            testing::card("3", "H100", Mebibytes(40'960)), testing::card("4", "A100"), unhealthy}));
  std::vector<bool> as_before;
  for (const MadeCard& card : state.traits()) as_before.push_back(card.as_before);
  EXPECT_EQ(as_before, (std::vector<bool>{false, true, false, false, false, false}));
  EXPECT_EQ(state.traits()[3].memory, Mebibytes(40'960));
  EXPECT_FALSE(state.traits()[5].available());
}

TEST(NodeStateTest, FindsACardByItsId) {
  const NodeState node = node_with({});
  EXPECT_EQ(node.card_index("b"), 1U);
  EXPECT_EQ(node.card_index("c"), std::nullopt);
}

TEST(NodeStateTest, WithoutPodsShowsTheNodeAfterAnEviction) {
  Allocation leaves = allocation("p", "n", {granted("a", 400, 400)});
  leaves.footprint = {.cpu = MilliCpu(2000), .memory = Mebibytes(100)};
  Allocation stays = allocation("q", "n", {granted("a", 300, 300)});
  stays.footprint = {.cpu = MilliCpu(1000), .memory = Mebibytes(50)};
  const NodeState node = node_with({leaves, stays, allocation("r", "n", {granted("gone", 1, 1)})});
  ASSERT_EQ(node.stray_grants, 1);

  const NodeState rest = without_pods(node, {"p", "r", "no-such-pod"});
  EXPECT_EQ(rest.use[0].compute, MilliGpu(300));
  EXPECT_EQ(rest.use[0].sharer_count(), 1);
  EXPECT_EQ(rest.stray_grants, 0);
  EXPECT_EQ(rest.requested, stays.footprint);
  ASSERT_EQ(rest.allocations.size(), 1U);
  EXPECT_EQ(rest.allocations[0]->pod_uid, "q");
  EXPECT_EQ(node.use[0].compute, MilliGpu(700));  // the node itself is untouched
  EXPECT_EQ(node.allocations.size(), 3U);
}

}  // namespace
}  // namespace tangram::model
