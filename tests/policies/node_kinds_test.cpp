#include "policies/node_kinds.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

model::NodeState node_of(const std::string& name, const std::string& model, int cards,
                         std::int64_t card_mib = 16'384) {
  std::vector<model::Card> all;
  all.reserve(static_cast<std::size_t>(cards));
  for (int i = 0; i < cards; ++i) {
    all.push_back(card(name + "-" + std::to_string(i), model, Mebibytes(card_mib)));
  }
  return node(inventory(name, std::move(all)));
}

Workload of(const std::vector<std::pair<model::PodDemand, std::int64_t>>& pods) {
  Workload workload;
  for (const auto& [demand, count] : pods) {
    workload.total += count;
    workload.classes.push_back({.demand = demand, .count = count});
  }
  return workload;
}

model::PodDemand only(const std::string& model) {
  model::PodDemand demand = pod(request(whole()));
  demand.gpu.models = {model};
  return demand;
}

TEST(NodeKindsTest, TellNodesApartByCardsAndRoughlyByCpu) {
  const auto a = node_of("a", "T4", 2);
  auto b = *a.inventory;
  b.name = "b";
  b.cpu = MilliCpu(60'000);  // 64 cores less some reserved ones
  EXPECT_TRUE(is_of_kind(*node_of("c", "T4", 2).inventory, kind_of(*a.inventory)));
  EXPECT_TRUE(is_of_kind(b, kind_of(b)));
  EXPECT_FALSE(is_of_kind(*node_of("d", "T4", 4).inventory, kind_of(*a.inventory)));
  EXPECT_FALSE(is_of_kind(*node_of("e", "A100", 2).inventory, kind_of(*a.inventory)));
  EXPECT_FALSE(is_of_kind(*node_of("f", "T4", 2, 32'768).inventory, kind_of(*a.inventory)));
}

TEST(NodeKindsTest, NothingCompetesWhileEveryNodeCanTakeEveryPod) {
  const auto a = node_of("a", "T4", 2);
  const auto b = node_of("b", "A100", 2);
  EXPECT_TRUE(pressures(of({{pod(request(fraction(500))), 10}}), {&a, &b}).empty());
}

TEST(NodeKindsTest, RestrictedDemandPressesOnTheModelItNeeds) {
  const auto a = node_of("a", "A100", 8);
  const auto t = node_of("t", "T4", 2);
  // Half the demand needs a fifth of the cards: five cards for two.
  const auto found = pressures(of({{only("T4"), 500}, {pod(request(whole())), 500}}), {&a, &t});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_LT(found[0].pressure, 50);
  EXPECT_NEAR(static_cast<double>(found[1].pressure), 2'500, 60);
}

TEST(NodeKindsTest, NodesWhoseCardsAreAllSickCountForNothing) {
  const auto a = node_of("a", "A100", 8);
  const auto t = node_of("t", "T4", 2);
  const auto unhealthy = [](model::NodeState node) {
    model::NodeInventory all = *node.inventory;
    for (model::Card& card : all.cards) card.healthy = false;
    node.equip(std::move(all));
    return node;
  };
  const Workload workload = of({{only("T4"), 500}, {pod(request(whole())), 500}});
  const auto expected = pressures(workload, {&a, &t});
  const auto same_kind = unhealthy(node_of("b", "T4", 2));  // as t
  const auto own_kind = unhealthy(node_of("c", "T4", 4));   // the only ones of their kinds
  const auto own_model = unhealthy(node_of("d", "L40S", 4));
  EXPECT_EQ(pressures(workload, {&a, &t, &same_kind, &own_kind, &own_model}), expected);
  EXPECT_EQ(pressures(workload, {&a, &same_kind, &t}), expected) << "whichever comes first";
}

TEST(NodeKindsTest, PodsOfManyCardsPressOnNodesThatHaveThem) {
  const auto large = node_of("a", "T4", 8);
  const auto small = node_of("b", "T4", 4);
  const auto found = pressures(of({{pod(request(whole(), 8)), 100}, {pod(request(whole())), 800}}),
                               {&large, &small});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found[0].pressure), 750, 10);  // 6 of the next 12, on 8 cards
  EXPECT_LT(found[1].pressure, 50);
}

TEST(NodeKindsTest, MemoryRequestsPressOnCardsThatAreLargeEnough) {
  const auto large = node_of("a", "A", 2, 81'920);
  const auto small = node_of("b", "B", 8, 16'384);
  const auto found =
      pressures(of({{pod(request(memory(40'960))), 10}, {pod(request(memory(8'192))), 10}}),
                {&large, &small});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_GT(found[0].pressure, 2 * found[1].pressure);
}

TEST(NodeKindsTest, PressureGrowsAsTheCardsGo) {
  const auto a = node_of("a", "A100", 8);
  auto t = node_of("t", "T4", 4);
  const Workload workload = of({{only("T4"), 200}, {pod(request(whole())), 800}});
  const auto before = pressures(workload, {&a, &t});
  for (int i = 0; i < 3; ++i) {
    t.use[static_cast<std::size_t>(i)] = used(t.cards()[static_cast<std::size_t>(i)], {1000, 1});
  }
  const auto after = pressures(workload, {&a, &t});
  EXPECT_GT(after[1].pressure, 2 * before[1].pressure);
}

TEST(NodeKindsTest, AModelThatNobodyNamedYetIsNotForFreeWhileFewPodsCame) {
  const auto a = node_of("a", "A100", 8);
  const auto g = node_of("g", "L4", 2);
  const auto t = node_of("t", "T4", 8);
  const auto few = pressures(of({{only("T4"), 10}, {pod(request(whole())), 20}}), {&a, &g, &t});
  const auto many =
      pressures(of({{only("T4"), 10'000}, {pod(request(whole())), 20'000}}), {&a, &g, &t});
  EXPECT_GT(few[1].pressure, 200);
  EXPECT_LT(many[1].pressure, 20);
}

}  // namespace
}  // namespace tangram::policies
