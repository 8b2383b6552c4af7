#include "policies/bestfit.hpp"

#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct Row {
  std::string name;
  model::NodeState node;
  model::PodDemand demand;
  std::int64_t score = 0;
  model::Placement placement;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class BestFitTest : public ::testing::TestWithParam<Row> {};

TEST_P(BestFitTest, ScoresWhatIsLeftFree) {
  const Row& row = GetParam();
  const auto choice = BestFit(MilliCpu(128'000), MilliGpu(8000)).choose(row.demand, row.node);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->score, row.score);
  EXPECT_EQ(choice->placement, row.placement);
}

model::NodeState with_cordoned_first_card() {
  model::NodeState state = loaded_node({{0}, {0}});
  model::NodeInventory what = *state.inventory;
  what.cards[0].cordoned = true;
  state.equip(std::move(what));
  return state;
}

model::NodeState with_less_memory_on_second_card() {
  model::NodeState state = loaded_node({{500}, {500}});
  state.use[1].memory += Mebibytes(1);
  return state;
}

INSTANTIATE_TEST_SUITE_P(
    Pods, BestFitTest,
    ::testing::Values(
        // c = 60000, g = 1500: 100 x (1 - 0.234375 - 0.09375) = 67.1875
        Row{"FractionOnAnIdleNode",
            loaded_node({{0}, {0}}),
            pod(request(fraction(500)), 4000),
            67,
            {0}},
        // c = 64000, g = 800: 100 x (1 - 0.25 - 0.05) = 70 exactly
        Row{"ExactWholeNumberIsKept",
            loaded_node({{600}, {200}}),
            pod(request(fraction(400))),
            70,
            {0}},
        Row{"TightestCardWins",
            loaded_node({{0}, {200}, {600}}),
            pod(request(fraction(400))),
            // c = 64000, g = 1000 + 800 + 0: 100 x (1 - 0.25 - 0.1125) = 63.75
            63,
            {2}},
        Row{"LessFreeMemoryWinsOnATie",
            with_less_memory_on_second_card(),
            // g = 900: 100 x (1 - 0.25 - 0.05625) = 69.375
            pod(request(fraction(100))),
            69,
            {1}},
        // g = 2000 - 2000: 100 x (1 - 0.25) = 75
        Row{"WholeCardsTakeTheLowestIdle",
            loaded_node({{0}, {1000}, {0}}),
            pod(request(whole(), 2)),
            75,
            {0, 2}},
        // c = 0, g = 2000: 100 x (1 - 0.125) = 87.5; free CPU never goes below zero
        Row{"MoreCpuThanFreeCountsAsNone", loaded_node({{0}, {0}}, 1000), cpu_pod(2000), 87, {}},
        // the cordoned card's 1000 are not free: g = 500; 100 x (1 - 0.25 - 0.03125) = 71.875
        Row{"CordonedCardIsNotFree",
            with_cordoned_first_card(),
            pod(request(fraction(500))),
            71,
            {1}}),
    [](const auto& row) { return row.param.name; });

TEST(BestFitTest, ScoresANodeLargerThanTheConstantsBelowZeroRoundingDown) {
  // c = 64000 of C = 32000, g = 1000 of G = 3000: 100 x (1 - 1 - 1/6) = -16.67
  const auto choice =
      BestFit(MilliCpu(32'000), MilliGpu(3000)).choose(cpu_pod(0), loaded_node({{0}}));
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->score, -17);
}

}  // namespace
}  // namespace tangram::policies
