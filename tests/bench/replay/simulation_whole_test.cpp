#include "bench/replay/consolidation.hpp"
#include "bench/replay/picture.hpp"
#include "bench/replay/simulation_report.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tangram::bench {
namespace {

/// A cluster of many nodes on which everything happens that can.
class WholeSimulationTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  WholeSimulationTest() : trace_(cluster_of({8, 4, 4, 2, 2, 1, 1, 0})) {
    std::mt19937_64 random(GetParam());
    for (int i = 0; i < 400; ++i) {
      switch (random() % 4) {
        case 0:
          trace_.arrivals.push_back(pod_of(1, 1000));
          break;
        case 1:
          trace_.arrivals.push_back(pod_of(static_cast<int>(2 + random() % 3), 1000));
          break;
        case 2:
          trace_.arrivals.push_back(pod_of(0, 0));
          break;
        default:
          trace_.arrivals.push_back(pod_of(1, static_cast<std::int64_t>(100 + random() % 800)));
      }
    }
    events_.arrivals = arrivals_of(trace_, {.load_percent = 110,
                                            .pods = 300,
                                            .urgent_percent = 5,
                                            .grouped_percent = 10,
                                            .group_size = 3,
                                            .seed = GetParam()});
    events_.failures = failures_of(
        trace_, {.card_days = 2, .node_days = 3, .repair_minutes = 60, .seed = GetParam()},
        events_.arrivals.back().arrives);
  }

  SimulationRun run(bool with_moves) {
    const auto scheduler = *InProcessScheduler::create(trace_.nodes, "binpack", {});
    const auto planner = make_consolidation(trace_, *scheduler);
    auto outcome =
        simulate(trace_, events_, {.restart = {}, .move_percent = 50, .move_interval = 1'800'000},
                 *scheduler, with_moves ? planner.get() : nullptr);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return {.policy = "binpack", .via = "inproc", .outcome = std::move(*outcome)};
  }

  Trace trace_;
  Events events_;
};

TEST_P(WholeSimulationTest, LosesNoPodAndNeverExceedsTheCapacity) {
  SCOPED_TRACE(GetParam());
  for (const bool with_moves : {false, true}) {
    const SimulationOutcome outcome = run(with_moves).outcome;
    EXPECT_FALSE(outcome.violation) << *outcome.violation;
    EXPECT_EQ(outcome.arrived, events_.arrivals.size());
    EXPECT_EQ(outcome.ended + outcome.running + outcome.waiting, outcome.arrived);
    EXPECT_GE(outcome.waiting, outcome.all.never_placed);
    for (const Levels<double>& levels : outcome.series) {
      EXPECT_LE(levels.allocated_milli + 1000 * levels.idle_cards,
                static_cast<double>(outcome.capacity_milli) + 1e-6);
    }
    // All that the scenario is for.
    EXPECT_GT(outcome.preempted, 0U);
    EXPECT_GT(outcome.failed, 0U);
    EXPECT_EQ(outcome.moves > 0, with_moves);
  }
}

TEST_P(WholeSimulationTest, GivesTheSameBytesAgain) {
  SCOPED_TRACE(GetParam());
  const SimulationRun once = run(true);
  const SimulationRun again = run(true);
  EXPECT_EQ(simulation_json(once), simulation_json(again));
  EXPECT_EQ(picture_of(once), picture_of(again));
}

INSTANTIATE_TEST_SUITE_P(Seeds, WholeSimulationTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace tangram::bench
