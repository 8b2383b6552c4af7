#include "bench/replay/simulation.hpp"

#include "bench/replay/inprocess.hpp"
#include "tests/bench/replay/placing_scheduler.hpp"
#include "tests/bench/replay/pods.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

std::unique_ptr<InProcessScheduler> scheduler_for(const Trace& trace) {
  return *InProcessScheduler::create(trace.nodes, "least-waste", {});
}

/// @param arrivals  the last one ends the simulation; it asks for nothing
SimulationOutcome outcome_of(const Trace& trace, std::vector<Arrival> arrivals,
                             std::vector<Failure> failures = {}, MovePlanner* planner = nullptr,
                             const SimulationOptions& options = {}) {
  const auto scheduler = scheduler_for(trace);
  const auto outcome =
      simulate(trace, {.arrivals = std::move(arrivals), .failures = std::move(failures)}, options,
               *scheduler, planner);
  EXPECT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->violation) << *outcome->violation;
  return *outcome;
}

Arrival the_end(std::int64_t at) { return arrival(pod_of(0, 0), at, 1); }

const ClassOutcome& of(const SimulationOutcome& outcome, PodClass which) {
  return outcome.classes[static_cast<std::size_t>(which)];
}

TEST(SimulationTest, APodThatFitsNowhereWaitsUntilAnotherEnds) {
  const auto outcome = outcome_of(
      cluster_of({1}), {arrival(pod_of(1, 1000), 10, 20), arrival(pod_of(1, 1000), 14, 100),
                        arrival(pod_of(1, 1000), 40, 1)});
  EXPECT_EQ(outcome.arrived, 3U);
  EXPECT_EQ(outcome.ended, 1U);
  EXPECT_EQ(outcome.running, 1U);
  EXPECT_EQ(outcome.waiting, 1U);
  EXPECT_EQ(outcome.all.never_placed, 1U);
  // Measured from 10 on: two pods wait 0 and 16, the third has just come.
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 16.0 / 3);
  EXPECT_DOUBLE_EQ(outcome.mean.allocated_milli, 1000);
  EXPECT_DOUBLE_EQ(outcome.mean.waiting[1], 16.0 / 30);
}

TEST(SimulationTest, CountsWholeIdleCards) {
  const auto outcome = outcome_of(cluster_of({2}), {arrival(pod_of(1, 500), 0, 20), the_end(40)});
  // From 10 to 20 one card, then two.
  EXPECT_DOUBLE_EQ(outcome.mean.idle_cards, (10.0 * 1 + 20 * 2) / 30);
}

TEST(SimulationTest, AnUrgentPodTakesThePlaceOfAnother) {
  const auto outcome =
      outcome_of(cluster_of({1}),
                 {arrival(pod_of(1, 1000), 25, 50), urgent(pod_of(1, 1000), 45, 10), the_end(100)},
                 {}, nullptr, {.restart = {.delay = 3'000}});
  EXPECT_EQ(outcome.preempted, 1U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kUrgent).wait.mean, 0);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 10);
  EXPECT_EQ(of(outcome, PodClass::kWholeCard).evicted, 1U);
  // 20 of its 50 are done at 45; it goes on from 55, with a delay of 3: until 88.
  EXPECT_EQ(outcome.ended, 2U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).mean_overhead_s, 3);
  EXPECT_DOUBLE_EQ(outcome.mean.allocated_milli, 1000.0 * (88 - 25) / 75);
}

TEST(SimulationTest, APodThatLosesItsWorkBeginsAnew) {
  const auto outcome =
      outcome_of(cluster_of({1}),
                 {arrival(pod_of(1, 1000), 25, 30), urgent(pod_of(1, 1000), 45, 10), the_end(100)},
                 {}, nullptr, {.restart = {.delay = 3'000, .loses_work = true}});
  // Until 55 + 3 + 30.
  EXPECT_DOUBLE_EQ(outcome.mean.allocated_milli, 1000.0 * (88 - 25) / 75);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).mean_overhead_s, 20 + 3);
}

TEST(SimulationTest, UrgentPodsDoNotTakeEachOthersPlace) {
  const auto outcome = outcome_of(cluster_of({1}), {urgent(pod_of(1, 1000), 25, 50),
                                                    urgent(pod_of(1, 1000), 45, 10), the_end(100)});
  EXPECT_EQ(outcome.preempted, 0U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kUrgent).wait.mean, 15);  // 0 and 30
}

TEST(SimulationTest, AGroupWaitsUntilAllOfItFits) {
  std::vector<Arrival> arrivals{arrival(pod_of(1, 1000), 25, 30), arrival(pod_of(1, 1000), 25, 15)};
  add_group(arrivals, arrival(pod_of(1, 1000), 30, 20), 2);
  arrivals.push_back(arrival(pod_of(1, 500), 41, 100));  // takes what is free meanwhile
  arrivals.push_back(the_end(100));
  const auto outcome = outcome_of(cluster_of({2}), arrivals);
  // At 40 one card is free, at 55 one and a half: no two, until the end.
  EXPECT_EQ(of(outcome, PodClass::kWholeCard).never_placed, 2U);
  EXPECT_EQ(outcome.waiting, 2U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kSharing).wait.mean, 0);

  arrivals[4] = arrival(pod_of(1, 500), 41, 20);  // until 61
  const auto later = outcome_of(cluster_of({2}), arrivals);
  EXPECT_DOUBLE_EQ(of(later, PodClass::kWholeCard).wait.mean, 2 * 31.0 / 4);
  EXPECT_EQ(later.waiting, 0U);
}

TEST(SimulationTest, OfAGroupAllAreEvicted) {
  std::vector<Arrival> arrivals;
  add_group(arrivals, arrival(pod_of(1, 1000), 25, 20), 2);
  arrivals.push_back(urgent(pod_of(1, 1000), 35, 10));
  arrivals.push_back(the_end(100));
  const auto outcome =
      outcome_of(cluster_of({1, 1}), arrivals, {}, nullptr, {.restart = {.delay = 0}});
  EXPECT_EQ(outcome.preempted, 2U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 10);
  // Both from 25 to 35 and from 45 to 55, the urgent one in between.
  EXPECT_DOUBLE_EQ(outcome.mean.allocated_milli, 1000.0 * (20 + 10 + 20) / 75);
}

TEST(SimulationTest, PodsOfABrokenCardArriveAgain) {
  const Trace trace = cluster_of({2});
  const std::vector<Arrival> arrivals{arrival(pod_of(1, 1000), 25, 50),
                                      arrival(pod_of(1, 1000), 25, 20), the_end(100)};
  // The first pod takes card 0.
  const auto outcome =
      outcome_of(trace, arrivals, {{.at = 35'000, .repaired_at = 90'000, .node = 0, .gpu = 0}},
                 nullptr, {.restart = {.delay = 0}});
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 10.0 / 2);  // until 45
  EXPECT_EQ(outcome.ended, 2U);
  // A broken card is not an idle one: none until 85, then one, from 90 on two.
  EXPECT_DOUBLE_EQ(outcome.mean.idle_cards, (5.0 * 1 + 10 * 2) / 75);
}

TEST(SimulationTest, ABrokenNodeTakesNoPodsUntilItIsRepaired) {
  std::vector<Arrival> arrivals{arrival(pod_of(1, 500), 25, 50), arrival(pod_of(0, 0), 40, 10),
                                the_end(100)};
  const auto outcome = outcome_of(cluster_of({1}), arrivals,
                                  {{.at = 35'000, .repaired_at = 60'000, .node = 0, .gpu = {}}});
  EXPECT_EQ(outcome.failed, 1U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kSharing).wait.mean, 25);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kCpuOnly).wait.mean, 20.0 / 2);
}

/// Moves pods as soon as another waits.
class FixedMoves final : public MovePlanner {
 public:
  FixedMoves(std::vector<std::pair<PodNumber, Placed>> moves, Placed room)
      : moves_(std::move(moves)), room_(std::move(room)) {}
  Plan plan(const Question& question) override {
    Plan plan{.moves = {}, .beneficiaries = {{0, room_}}};
    for (const auto& [number, to] : moves_) {
      const TracePod* pod = question.movable(number);
      if (pod == nullptr) return {};
      plan.moves.push_back({.number = number, .pod = *pod, .to = to});
    }
    return plan;
  }

 private:
  std::vector<std::pair<PodNumber, Placed>> moves_;
  Placed room_;
};

const Placed kN0{.node = 0, .gpus = {0}};
const Placed kN1{.node = 1, .gpus = {0}};

/// From 30 on there are 300 milli on n0 and 400 on n1, and a pod waits for a whole card.
std::vector<Arrival> scattered() {
  return {arrival(pod_of(1, 700), 25, 5), arrival(pod_of(1, 400), 26, 100),
          arrival(pod_of(1, 300), 27, 20), arrival(pod_of(1, 1000), 35, 10), the_end(100)};
}

TEST(SimulationTest, AMoveMakesRoomAndCostsARestart) {
  FixedMoves planner({{2, kN1}}, kN0);
  const auto outcome = outcome_of(cluster_of({1, 1}), scattered(), {}, &planner,
                                  {.restart = {.delay = 3'000}, .move_percent = 100});
  EXPECT_EQ(outcome.moves, 1U);
  EXPECT_EQ(outcome.moved_for, 1U);
  EXPECT_EQ(of(outcome, PodClass::kSharing).moved, 1U);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kSharing).mean_overhead_s, 3.0 / 3);
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 0);
  // The moved pod has 12 of its 20 left at 35, and ends at 50.
  EXPECT_DOUBLE_EQ(outcome.mean.allocated_milli,
                   (700.0 * 5 + 400 * 74 + 300 * (50 - 27) + 1000 * 10) / 75);
}

TEST(SimulationTest, NothingIsMovedBeyondTheLimit) {
  FixedMoves planner({{2, kN1}}, kN0);
  const auto outcome = outcome_of(cluster_of({1, 1}), scattered(), {}, &planner);
  EXPECT_EQ(outcome.moves, 0U);  // 1 % of two pods
  EXPECT_DOUBLE_EQ(of(outcome, PodClass::kWholeCard).wait.mean, 12);
}

TEST(SimulationTest, UrgentPodsAndGroupsAreNotMoved) {
  FixedMoves planner({{2, kN1}}, kN0);
  std::vector<Arrival> arrivals = scattered();
  arrivals[2].pod.priority = kUrgentPriority;
  const auto outcome =
      outcome_of(cluster_of({1, 1}), arrivals, {}, &planner, {.restart = {}, .move_percent = 100});
  EXPECT_EQ(outcome.moves, 0U);
}

/// The rule that a planner or scheduler broke.
std::string violation_of(const std::vector<Arrival>& arrivals, Scheduler& scheduler,
                         MovePlanner* planner, double move_percent = 100) {
  const auto outcome = simulate(cluster_of({1, 1}), {.arrivals = arrivals, .failures = {}},
                                {.restart = {}, .move_percent = move_percent}, scheduler, planner);
  EXPECT_TRUE(outcome) << outcome.error().message;
  return outcome && outcome->violation ? *outcome->violation : "";
}

TEST(SimulationTest, AWrongPlanBreaksTheRules) {
  const Trace trace = cluster_of({1, 1});
  const auto violation = [&](std::vector<std::pair<PodNumber, Placed>> moves, const Placed& room,
                             double percent) {
    FixedMoves planner(std::move(moves), room);
    return violation_of(scattered(), *scheduler_for(trace), &planner, percent);
  };
  EXPECT_EQ(violation({{2, kN1}}, kN0, 100), "");
  EXPECT_NE(violation({{2, kN1}}, kN1, 100).find("requested 1000 milli of device 0, 300 are free"),
            std::string::npos);
  EXPECT_NE(violation({{2, kN1}, {1, kN0}}, kN0, 50).find("beyond the limit"), std::string::npos);
  EXPECT_NE(violation({{2, {.node = 1, .gpus = {1}}}}, kN0, 100).find("device 1 does not exist"),
            std::string::npos);
}

/// Leaves every pod out.
class RefusingScheduler final : public PlacingScheduler {
 public:
  Result<std::optional<Placed>> place(PodNumber /*number*/, const TracePod& /*pod*/,
                                      const std::vector<std::size_t>& /*feasible*/) override {
    return std::optional<Placed>{};
  }
};

TEST(SimulationTest, RefusingAPodThatFitsBreaksTheRules) {
  RefusingScheduler scheduler;
  EXPECT_NE(violation_of(scattered(), scheduler, nullptr).find("fits node n0"), std::string::npos);
}

}  // namespace
}  // namespace tangram::bench
