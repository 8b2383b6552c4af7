#include "policies/least_waste.hpp"

#include "policies/fill.hpp"
#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

std::shared_ptr<const Prices> prices(Prices what = {}) {
  return std::make_shared<const Prices>(std::move(what));
}
Prices with_rests(std::vector<CutDemand> demand) {
  Prices what;
  what.rests.push_back({.card_memory = 81'920, .values = rest_values(std::move(demand))});
  return what;
}

TEST(LeastWasteTest, ColdItTakesTheFullestCardThatFits) {
  const LeastWaste policy(prices());
  const auto node = loaded_node({{0}, {300}, {700}});
  EXPECT_EQ(policy.choose(pod(request(fraction(500))), node)->placement, model::Placement{1});
  EXPECT_EQ(policy.choose(pod(request(fraction(200))), node)->placement, model::Placement{2});
  EXPECT_FALSE(policy.choose(pod(request(whole(), 2)), node).has_value());
}

TEST(LeastWasteTest, ColdItPrefersTheNodeWithTheLeastIdle) {
  const LeastWaste policy(prices());
  const auto pod_of_half = pod(request(fraction(500)));
  EXPECT_GT(policy.choose(pod_of_half, loaded_node({{500}, {1000}}))->score,
            policy.choose(pod_of_half, loaded_node({{500}, {0}}))->score);
}

TEST(LeastWasteTest, CutsWhatLeavesARestOfUse) {
  const LeastWaste policy(
      prices(with_rests({{.size = 470, .count = 50}, {.size = 300, .count = 2}})));
  // 530 takes a second 470, so a pod of 300 does less harm where 310 are left.
  const auto node = loaded_node({{470}, {690}});
  EXPECT_EQ(policy.choose(pod(request(fraction(300))), node)->placement, model::Placement{1});
  const auto opened = policy.choose(pod(request(fraction(300))), loaded_node({{470}}));
  const auto beside = policy.choose(pod(request(fraction(300))), loaded_node({{690}}));
  EXPECT_GT(beside->score, opened->score);
}

TEST(LeastWasteTest, KeepsCpuForTheCardsThatNeedIt) {
  Prices what;
  what.cpu_per_card = 10'000;
  const LeastWaste policy(prices(what));
  // Two idle cards with 20 cores: ten more would leave one of them useless.
  const auto tight = policy.choose(cpu_pod(10'000), loaded_node({{0}, {0}}, 20'000));
  const auto ample = policy.choose(cpu_pod(10'000), loaded_node({{0}, {0}}, 40'000));
  EXPECT_EQ(ample->score - tight->score, kFull);
}

TEST(LeastWasteTest, LeavesAKindOfNodeToThePodsThatNeedIt) {
  const auto node = loaded_node({{0}});
  Prices what;
  what.kinds.push_back({.kind = kind_of(*node.inventory), .pressure = 800});
  const auto demand = pod(request(whole()));
  const auto wanted = LeastWaste(prices(what)).choose(demand, node)->score;
  const auto free = LeastWaste(prices()).choose(demand, node)->score;
  EXPECT_EQ(free - wanted, 8 * kFull / 10);
}

TEST(LeastWasteTest, OpensAnIdleNodeLastWherePodsWantSeveralCards) {
  Prices what;
  what.opening = kFull / 2;
  const LeastWaste policy(prices(what));
  const auto demand = pod(request(whole()));
  EXPECT_EQ(policy.choose(demand, loaded_node({{0}, {1000}}))->score -
                policy.choose(demand, loaded_node({{0}, {0}}))->score,
            kFull / 2 + 50);  // and the node has half of its cards idle, not none
  EXPECT_EQ(policy.choose(cpu_pod(1'000), loaded_node({{0}, {0}}))->score,
            LeastWaste(prices()).choose(cpu_pod(1'000), loaded_node({{0}, {0}}))->score);
}

TEST(LeastWasteTest, OpensAnIdleCardOnlyForWhatItSaves) {
  Prices what = with_rests({{.size = 470, .count = 50}, {.size = 300, .count = 2}});
  const auto demand = pod(request(fraction(300)));
  // Beside 470, the 300 spoil the room for a second 470.
  const auto node = loaded_node({{470}, {0}});
  what.card_opening = 0;
  EXPECT_EQ(LeastWaste(prices(what)).choose(demand, node)->placement, model::Placement{1});
  what.card_opening = 2 * kFull;
  EXPECT_EQ(LeastWaste(prices(what)).choose(demand, node)->placement, model::Placement{0});
  // A pod that wants a whole card opens none for others.
  EXPECT_EQ(LeastWaste(prices(what)).choose(pod(request(whole())), node)->score,
            LeastWaste(prices(with_rests({}))).choose(pod(request(whole())), node)->score);
}

TEST(LeastWasteTest, PutsMuchMemoryBesideMuchCompute) {
  const LeastWaste policy(prices());
  auto state = loaded_node({{0}, {0}});
  state.use[0].memory = Mebibytes(8'192);  // 10 % of the memory, 60 % of the compute
  state.use[0].compute = MilliGpu(600);
  state.use[0].sharers[0] = 1;
  state.use[1].memory = Mebibytes(49'152);  // the other way round
  state.use[1].compute = MilliGpu(100);
  state.use[1].sharers[0] = 1;
  model::Share much_memory = memory(32'768);
  much_memory.compute = MilliGpu(100);
  EXPECT_EQ(policy.choose(pod(request(much_memory)), state)->placement, model::Placement{0});
}

TEST(LeastWasteTest, TheSameMebibytesAreAnotherPartOfAnotherCard) {
  Prices what;
  what.rests.push_back({.card_memory = 16'384, .values = rest_values({{.size = 500, .count = 1}})});
  what.rests.push_back({.card_memory = 81'920, .values = rest_values({{.size = 100, .count = 1}})});
  const auto small = card("s", "T4", Mebibytes(16'384));
  const auto large = card("l");
  EXPECT_EQ(rest_value(what.rests_for(small.memory), 499), 0);
  EXPECT_EQ(rest_value(what.rests_for(large.memory), 500), kFull / 2);
  EXPECT_EQ(rest_value(what.rests_for(Mebibytes(24'576)), 100), kFull / 10);
  EXPECT_EQ(rest_value(what.rests_for(Mebibytes(144'384)), 100), kFull / 10);
}

TEST(LeastWasteTest, AWeightOfNoneLeavesATermOut) {
  Prices what;
  what.cpu_per_card = 10'000;
  const LeastWaste policy(prices(what), {.cpu_deficit = 0});
  EXPECT_EQ(policy.choose(cpu_pod(10'000), loaded_node({{0}, {0}}, 20'000))->score,
            policy.choose(cpu_pod(10'000), loaded_node({{0}, {0}}, 40'000))->score);
}

class TopologyTest : public ::testing::Test {
 protected:
  static model::NodeState four(std::vector<int> numa) {
    std::vector<model::Card> cards;
    for (std::size_t i = 0; i < numa.size(); ++i) {
      cards.push_back(card("g" + std::to_string(i)));
      cards.back().numa_node = numa[i];
    }
    return node(inventory("n", std::move(cards)));
  }
  static model::NodeState linked(model::NodeState state, std::size_t a, std::size_t b) {
    auto what = *state.inventory;
    what.cards[a].links.push_back({.peer = what.cards[b].id, .type = "nvlink", .count = 4});
    what.cards[b].links.push_back({.peer = what.cards[a].id, .type = "nvlink", .count = 4});
    state.equip(std::move(what));
    return state;
  }
  static model::Placement cards_for(const model::NodeState& state, int count) {
    return LeastWaste(prices()).choose(pod(request(whole(), count)), state)->placement;
  }
};

TEST_F(TopologyTest, TakesTheLowestCardsWhereNothingIsKnown) {
  EXPECT_EQ(cards_for(four({-1, -1, -1, -1}), 2), (model::Placement{0, 1}));
}

TEST_F(TopologyTest, KeepsAPodOnOneNumaNode) {
  EXPECT_EQ(cards_for(four({0, 1, 0, 1}), 2), (model::Placement{0, 2}));
}

TEST_F(TopologyTest, FollowsNvlinkBeforeNuma) {
  EXPECT_EQ(cards_for(linked(four({0, 0, 1, 1}), 1, 2), 2), (model::Placement{1, 2}));
}

TEST_F(TopologyTest, TakesASingleCardThatBreaksNoPair) {
  EXPECT_EQ(cards_for(linked(four({0, 0, 0, 0}), 0, 1), 1), (model::Placement{2}));
}

TEST_F(TopologyTest, TakesOnlyIdleCards) {
  auto state = linked(four({0, 0, 1, 1}), 0, 1);
  state.use[1] = used(state.cards()[1], {1000, 1});
  EXPECT_EQ(cards_for(state, 2), (model::Placement{2, 3}));
}

}  // namespace
}  // namespace tangram::policies
