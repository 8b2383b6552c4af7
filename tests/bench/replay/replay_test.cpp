#include "bench/replay/replay.hpp"

#include "bench/replay/inprocess.hpp"
#include "bench/replay/report.hpp"
#include "policies/registry.hpp"
#include "policies/trace_pods.hpp"
#include "tests/bench/replay/placing_scheduler.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace tangram::bench {
namespace {

TracePod pod(std::string name, int gpus, std::int64_t milli) {
  return {.name = std::move(name),
          .cpu_milli = 1000,
          .memory_mib = 0,
          .gpus = gpus,
          .gpu_milli = milli,
          .models = {}};
}

/// Two nodes of two devices: 4000 milli in all.
Trace tiny() {
  Trace trace;
  for (const char* name : {"n0", "n1"}) {
    trace.nodes.push_back(
        {.name = name, .cpu_milli = 8000, .memory_mib = 0, .gpus = 2, .model = "T4"});
  }
  trace.arrivals = {pod("half", 1, 500), pod("two", 2, 1000), pod("cpu", 0, 0),
                    pod("large", 1, 900), pod("again", 2, 1000)};
  trace.workload = trace.arrivals;
  trace.workload_origin = "the arrivals themselves";
  return trace;
}

/// Returns the given placements.
class ScriptedScheduler final : public PlacingScheduler {
 public:
  explicit ScriptedScheduler(std::deque<std::optional<Placed>> answers)
      : answers_(std::move(answers)) {}
  Result<std::optional<Placed>> place(PodNumber /*number*/, const TracePod& /*pod*/,
                                      const std::vector<std::size_t>& /*feasible*/) override {
    if (answers_.empty()) return fail(Errc::kUnavailable, "nothing more to say");
    auto next = answers_.front();
    answers_.pop_front();
    return next;
  }

 private:
  std::deque<std::optional<Placed>> answers_;
};

std::unique_ptr<InProcessScheduler> in_process(const Trace& trace, std::string_view policy) {
  policies::PolicyOptions options;
  options.workload = std::make_shared<policies::Workload>(
      policies::workload_of(trace.workload, model::Isolation::kNone));
  return *InProcessScheduler::create(trace.nodes, std::string(policy), options);
}

TEST(ReplayTest, StopsAtTheFirstBrokenRule) {
  const Trace trace = tiny();
  ScriptedScheduler scheduler({Placed{.node = 0, .gpus = {0}}, Placed{.node = 0, .gpus = {0, 1}}});
  const auto outcome = replay(trace, scheduler, {});
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(outcome->violation.has_value());
  EXPECT_NE(outcome->violation->find("arrival 1, pod two"), std::string::npos);
  EXPECT_EQ(outcome->steps.size(), 2U);
  EXPECT_EQ(outcome->steps.back().allocated_milli, 500);
}

TEST(ReplayTest, EndsWithThePlacersError) {
  const Trace trace = tiny();
  ScriptedScheduler scheduler({Placed{.node = 0, .gpus = {0}}});
  const auto outcome = replay(trace, scheduler, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "nothing more to say");
}

TEST(ReplayTest, ReportsProgressAfterEveryArrival) {
  const Trace trace = tiny();
  auto scheduler = in_process(trace, "bestfit");
  std::vector<std::size_t> seen;
  ASSERT_TRUE(replay(trace, *scheduler, [&](std::size_t done) { seen.push_back(done); }));
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
}

TEST(ReplayTest, PlacesEveryPodThatFitsUnderEveryPolicy) {
  const Trace trace = tiny();
  for (const std::string_view policy : policies::policy_names()) {
    auto scheduler = in_process(trace, policy);
    const auto outcome = replay(trace, *scheduler, {});
    ASSERT_TRUE(outcome) << policy;
    EXPECT_FALSE(outcome->violation.has_value()) << policy << ": " << *outcome->violation;
    EXPECT_EQ(outcome->placed(), 4U) << policy;  // the last two whole devices are not there
    EXPECT_EQ(outcome->steps.back().arrived_milli, 5400);
    EXPECT_EQ(outcome->steps.back().allocated_milli, 3400) << policy;
  }
}

TEST(ReplayTest, GivesEqualScoresToTheFirstNodeAndWritesTheLog) {
  const Trace trace = tiny();
  auto scheduler = in_process(trace, "binpack");
  const auto outcome = replay(trace, *scheduler, {});
  ASSERT_TRUE(outcome);
  // half: both nodes alike, n0. two: only n1. cpu: n0 and n1 have the same CPU left, n0.
  // large: device 1 of n0. again: nowhere.
  EXPECT_EQ(placement_log(trace, *outcome),
            "order,pod,node,gpus\n0,half,n0,0\n1,two,n1,0-1\n2,cpu,n0,\n3,large,n0,1\n4,again,,\n");
}

TEST(ReplayTest, ChoosesTheFirstOfTheNodesGiven) {
  const Trace trace = tiny();
  auto scheduler = in_process(trace, "spread");
  const auto placed = scheduler->place(0, trace.arrivals[0], {1, 0});
  ASSERT_TRUE(placed && *placed);
  EXPECT_EQ((*placed)->node, 1U);
}

Outcome outcome_of(std::vector<Step> steps, std::int64_t capacity) {
  Outcome outcome;
  outcome.steps = std::move(steps);
  outcome.capacity_milli = capacity;
  return outcome;
}

TEST(ReplayMarksTest, AverageTheRowsWhoseArrivedPercentRoundsToTheMark) {
  const auto at =
      marks(outcome_of({{.placed = {}, .arrived_milli = 99'499, .allocated_milli = 1},
                        {.placed = {}, .arrived_milli = 99'500, .allocated_milli = 90'004},
                        {.placed = {}, .arrived_milli = 100'499, .allocated_milli = 90'016},
                        {.placed = {}, .arrived_milli = 100'500, .allocated_milli = 1}},
                       100'000));
  // 99.499 -> 99; 99.5 and 100.499 -> 100; 100.5 -> 101. (90.00 + 90.02) / 2 = 90.01
  ASSERT_TRUE(at.contains(99) && at.contains(100) && at.contains(101));
  EXPECT_DOUBLE_EQ(at.at(100), 90.01);
  EXPECT_EQ(at.size(), 3U);
}

TEST(ReplayMarksTest, RoundHundredthsHalfUp) {
  EXPECT_EQ(hundredths_of_percent(1, 3), 3333);
  EXPECT_EQ(hundredths_of_percent(2, 3), 6667);
  EXPECT_EQ(hundredths_of_percent(5, 100'000), 1);  // 0.005 %
  EXPECT_EQ(hundredths_of_percent(1, 0), 0);        // a cluster without devices
}

TEST(ReplayReportTest, WritesSummaryAndCurve) {
  Trace trace = tiny();
  trace.arrivals = {pod("whole", 1, 1000), pod("more", 1, 1000)};
  const auto outcome = outcome_of(
      {{.placed = Placed{.node = 0, .gpus = {0}}, .arrived_milli = 1000, .allocated_milli = 1000},
       {.placed = {}, .arrived_milli = 2000, .allocated_milli = 1000}},
      2000);
  EXPECT_EQ(curve(outcome),
            "order,arrived_percent,allocated_percent\n0,50.00,50.00\n1,100.00,50.00\n");
  EXPECT_EQ(summary_json(trace, outcome, {.policy = "bestfit", .via = "inproc"}),
            "{\"policy\":\"bestfit\",\"via\":\"inproc\",\"workload\":\"the arrivals themselves\","
            "\"arrivals\":2,\"placed\":1,\"dropped\":1,"
            "\"allocated_percent\":{\"50\":50.00,\"100\":50.00},\"seconds\":0.0,\"valid\":true}\n");
}

TEST(ReplayReportTest, SaysWhatRuleWasBroken) {
  const Trace trace = tiny();
  Outcome outcome = outcome_of({}, 4000);
  outcome.violation = "arrival 0 went astray";
  const RunLabel label{.policy = "bestfit", .via = "inproc"};
  EXPECT_NE(summary_json(trace, outcome, label)
                .find("\"valid\":false,\"violation\":\"arrival 0 went astray\""),
            std::string::npos);
  EXPECT_NE(summary_text(trace, outcome, label).find("BROKEN: arrival 0 went astray"),
            std::string::npos);
}

}  // namespace
}  // namespace tangram::bench
