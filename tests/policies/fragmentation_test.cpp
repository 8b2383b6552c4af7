#include "policies/fragmentation.hpp"

#include "policies/fragmentation_measure.hpp"
#include "tests/policies/cluster.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace tangram::policies {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

Workload workload(std::vector<WorkloadClass> classes) {
  Workload made{.classes = std::move(classes), .total = 0};
  for (const WorkloadClass& next : made.classes) made.total += next.count;
  return made;
}

/// Half of the pods share 0.6 of a card, three in ten want a card, two in ten no GPU.
Workload typical() {
  return workload({{.demand = pod(request(fraction(600)), 4000), .count = 5},
                   {.demand = pod(request(whole()), 8000), .count = 3},
                   {.demand = cpu_pod(2000), .count = 2}});
}

struct MeasureRow {
  std::string name;
  model::NodeState node;
  std::int64_t weighted = 0;  ///< F_n x 10 pods
};
std::ostream& operator<<(std::ostream& out, const MeasureRow& row) { return out << row.name; }

class FragmentationMeasureTest : public ::testing::TestWithParam<MeasureRow> {};

TEST_P(FragmentationMeasureTest, SumsWhatEachClassCannotUse) {
  const MeasureRow& row = GetParam();
  const FragmentationMeasure measure(typical());
  const NodeFragmentation here(measure, row.node.cards(), row.node.use);
  EXPECT_EQ(here.weighted(row.node.free_cpu()), row.weighted);
}

model::NodeState with_cordoned_second_card() {
  model::NodeState state = loaded_node({{0}, {0}});
  model::NodeInventory what = *state.inventory;
  what.cards[1].cordoned = true;
  state.equip(std::move(what));
  return state;
}

model::NodeState with_full_memory() {
  model::NodeState state = loaded_node({{500}, {0}});
  state.use[0].memory = state.cards()[0].memory;
  return state;
}

model::NodeState with_time_slicing_on_first_card() {
  model::NodeState state = loaded_node({{100}, {0}});
  state.use[0].sharers = {0, 1, 0};
  return state;
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, FragmentationMeasureTest,
    ::testing::Values(
        // 2000 idle; sharers and whole cards can use all; CPU pods nothing: 2 x 2000.
        MeasureRow{"IdleNodeStrandsOnlyForCpuPods", loaded_node({{0}, {0}}), 4000},
        // 1500 idle. 600: the 500 is too small, 5 x 500. Whole: 3 x 500. CPU pods: 2 x 1500.
        MeasureRow{"SmallRemainderStrands", loaded_node({{500}, {0}}), 2500 + 1500 + 3000},
        // 1700 idle. 600 fits both: 0. Whole: the used card's 700, 3 x 700. CPU: 2 x 1700.
        MeasureRow{"UsedCardStrandsForWholeCards", loaded_node({{300}, {0}}), 2100 + 3400},
        // 1300 idle, no idle card: whole cannot run, 3 x 1300. 600 fits both. CPU: 2 x 1300.
        MeasureRow{"NoIdleCardStrandsAllForWholeCards", loaded_node({{300}, {400}}), 3900 + 2600},
        // 5000 mCPU: whole cards want 8000 and cannot run, 3 x 2000. CPU: 2 x 2000.
        MeasureRow{"LittleCpuStrandsAll", loaded_node({{0}, {0}}, 5000), 6000 + 4000},
        // exactly the CPU that the largest class asks
        MeasureRow{"ExactlyEnoughCpuStrandsNothing", loaded_node({{0}, {0}}, 8000), 4000},
        // no CPU for anybody: 10 x 2000
        MeasureRow{"NoCpuStrandsEverything", loaded_node({{0}, {0}}, 0), 20'000},
        // the cordoned card counts not at all: idle 1000, CPU pods 2 x 1000
        MeasureRow{"CordonedCardIsNotIdle", with_cordoned_second_card(), 2000},
        // 1500 idle; the first card's 500 has no memory left: same as SmallRemainderStrands
        MeasureRow{"FullMemoryStrandsCompute", with_full_memory(), 2500 + 1500 + 3000},
        // 1900 idle; MPS pods cannot go beside a time-slicing one: 5 x 900, whole 3 x 900, 2 x 1900
        MeasureRow{"OtherIsolationStrands", with_time_slicing_on_first_card(), 4500 + 2700 + 3800},
        MeasureRow{"FullNodeHasNothingToStrand", loaded_node({{1000}, {1000}}), 0},
        MeasureRow{"NodeWithoutCardsHasNothing", loaded_node({}), 0}),
    [](const auto& row) { return row.param.name; });

TEST(FragmentationMeasureTest, CountsAllIdleForAClassThatWantsMoreCardsThanFit) {
  const FragmentationMeasure measure(
      workload({{.demand = pod(request(fraction(600), 2)), .count = 1}}));
  const auto fits = loaded_node({{0}, {0}, {500}});      // strands the 500
  const auto cannot = loaded_node({{0}, {500}, {500}});  // one card fits, two are wanted: 2000
  EXPECT_DOUBLE_EQ(measure.fragmented_milli(fits), 500);
  EXPECT_DOUBLE_EQ(measure.fragmented_milli(cannot), 2000);
}

TEST(FragmentationMeasureTest, JudgesSeveralContainersEachByItselfButWholeCardsTogether) {
  model::GpuRequest two = request(whole());
  two.containers.push_back(two.containers.front());
  const FragmentationMeasure measure(workload({{.demand = pod(two), .count = 1}}));
  EXPECT_DOUBLE_EQ(measure.fragmented_milli(loaded_node({{0}, {0}})), 0);
  EXPECT_DOUBLE_EQ(measure.fragmented_milli(loaded_node({{0}, {400}})), 1600);  // one idle card
}

TEST(FragmentationMeasureTest, LeavesPodsWithoutGpuOutOfTheDashboardsNumber) {
  const FragmentationMeasure measure(typical());
  // (5 x 500 + 3 x 500) / 8 GPU pods
  EXPECT_DOUBLE_EQ(measure.fragmented_milli(loaded_node({{500}, {0}})), 500);
  EXPECT_DOUBLE_EQ(FragmentationMeasure(workload({{.demand = cpu_pod(1), .count = 1}}))
                       .fragmented_milli(loaded_node({{0}})),
                   0);
}

TEST(FragmentationMeasureTest, WhatIfOneCardEqualsTheNodeWorkedOutAnew) {
  const FragmentationMeasure measure(typical());
  const auto now = loaded_node({{500}, {0}});
  const NodeFragmentation here(measure, now.cards(), now.use);
  for (const std::int64_t milli : {0, 100, 400, 401, 700, 1000}) {
    const auto then = loaded_node({{500}, {milli}});
    const NodeFragmentation anew(measure, then.cards(), then.use);
    EXPECT_EQ(here.weighted_if(1, then.use[1], MilliCpu(9000)), anew.weighted(MilliCpu(9000)))
        << milli;
  }
}

struct ScoreRow {
  std::string name;
  model::NodeState node;
  model::PodDemand demand;
  std::int64_t score = 0;
  model::Placement placement;
};
std::ostream& operator<<(std::ostream& out, const ScoreRow& row) { return out << row.name; }

class FragmentationTest : public ::testing::TestWithParam<ScoreRow> {};

TEST_P(FragmentationTest, ScoresByTheGradient) {
  const ScoreRow& row = GetParam();
  const auto choice = Fragmentation(typical()).choose(row.demand, row.node);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->score, row.score);
  EXPECT_EQ(choice->placement, row.placement);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, FragmentationTest,
    ::testing::Values(
        // F 4000/10 -> (5 x 400 + 3 x 400 + 2 x 1400) / 10 = 600; dF = 200: 100/(1+e^0.2) = 45.01
        ScoreRow{
            "OpeningACardCosts", loaded_node({{0}, {0}}), pod(request(fraction(600))), 45, {0}},
        // card 0: 1500 idle, F = 700 -> 1000 idle, 2 x 1000 / 10 = 200; dF = -500: 62.24
        // card 1: -> 500 + 500 left: 10 x 1000 / 10 = 1000; dF = +300: 42.55
        ScoreRow{"FillingAHoleExactlyPays",
                 loaded_node({{500}, {0}}),
                 pod(request(fraction(500))),
                 62,
                 {0}},
        // card 0: 1400 idle, F (5 x 400 + 3 x 400 + 2 x 1400)/10 = 600 before.
        // fraction 400 on card 0: 1000 idle, 200: dF = -400: 59.86
        ScoreRow{"LeastFragmentingCardWins",
                 loaded_node({{0}, {600}}),
                 pod(request(fraction(400))),
                 59,
                 {1}},
        // F 400 -> 1000 idle, 2 x 1000 / 10 = 200; dF = -200: 54.98
        ScoreRow{"WholeCardTakesTheLowestIdleOne",
                 loaded_node({{1000}, {0}, {0}}),
                 pod(request(whole())),
                 54,
                 {1}},
        // F 600 -> 200: dF = -400: 59.86
        ScoreRow{"TwoWholeCardsAreScoredTogether",
                 loaded_node({{0}, {1000}, {0}, {0}}),
                 pod(request(whole(), 2)),
                 59,
                 {0, 2}},
        // CPU 9000 -> 7000: whole cards (8000) can no longer run: F 400 -> 1000; dF 600: 35.43
        ScoreRow{"CpuPodThatTakesCpuFromCardsCosts",
                 loaded_node({{0}, {0}}, 9000),
                 cpu_pod(2000),
                 35,
                 {}},
        // nothing changes: 50
        ScoreRow{"CpuPodElsewhereIsNeutral", loaded_node({{0}, {0}}), cpu_pod(2000), 50, {}},
        ScoreRow{"CpuPodOnANodeWithoutCardsIsNeutral", loaded_node({}), cpu_pod(2000), 50, {}}),
    [](const auto& row) { return row.param.name; });

TEST(FragmentationTest, ScoresEveryPlaceAlikeWithoutAWorkload) {
  const Fragmentation policy{Workload{}};
  const auto empty = policy.choose(pod(request(fraction(500))), loaded_node({{0}, {0}}));
  const auto full = policy.choose(pod(request(fraction(500))), loaded_node({{1000}, {500}}));
  ASSERT_TRUE(empty && full);
  EXPECT_EQ(empty->score, full->score);
  EXPECT_EQ(full->placement, model::Placement{1});
}

TEST(FragmentationTest, PlacesContainersOfOnePodTogether) {
  model::GpuRequest two = request(fraction(500));
  two.containers.push_back({.container = "side", .count = 1, .share = fraction(500)});
  // The first takes a card (both alike: 0), the second fills the same: 1000 idle are left whole.
  const auto choice = Fragmentation(typical()).choose(pod(two), loaded_node({{0}, {0}}));
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->placement, (model::Placement{0, 0}));
  EXPECT_EQ(choice->score, 54);  // F 400 -> 200, as a whole card
}

}  // namespace
}  // namespace tangram::policies
