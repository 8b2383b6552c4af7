#include "bench/replay/simulation_report.hpp"

#include "bench/replay/picture.hpp"

#include <gtest/gtest.h>

namespace tangram::bench {
namespace {

SimulationRun run_with(std::string policy, double sharing_s, double whole_s) {
  SimulationRun run{.policy = std::move(policy), .via = "inproc", .outcome = {}};
  SimulationOutcome& outcome = run.outcome;
  outcome.capacity_milli = 4'000;
  outcome.cards = 4;
  outcome.ends = 7'200'000;
  outcome.mean.allocated_milli = 3'000;
  outcome.series = {{.allocated_milli = 2'000, .waiting = {}},
                    {.allocated_milli = 3'000, .waiting = {1, 2}}};
  outcome.classes[0].wait = {.pods = 2, .mean = sharing_s};
  outcome.classes[1].wait = {.pods = 2, .mean = whole_s};
  return run;
}

TEST(SimulationReportTest, TextHasTheFiguresAndTheClassesThatCame) {
  const std::string text = simulation_text(run_with("fgd", 1.5, 20));
  EXPECT_NE(text.find("policy      fgd, via inproc"), std::string::npos);
  EXPECT_NE(text.find("time        2.0 h, measured from 0.5 h on"), std::string::npos);
  EXPECT_NE(text.find("allocated   75.00 % of GPU time"), std::string::npos);
  EXPECT_NE(text.find("sharing"), std::string::npos);
  EXPECT_EQ(text.find("CPU only"), std::string::npos);
  EXPECT_NE(text.find("rules       kept"), std::string::npos);
}

TEST(SimulationReportTest, JsonHasTheSeries) {
  const std::string json = simulation_json(run_with("fgd", 1.5, 20));
  EXPECT_NE(json.find(R"("allocated_percent":75.00)"), std::string::npos);
  EXPECT_NE(json.find(R"("series":[{"until_hours":1.00,"allocated_percent":50.00,)"
                      R"("idle_cards":0.00,"waiting_pods":0.00},{"until_hours":2.00,)"
                      R"("allocated_percent":75.00,"idle_cards":0.00,"waiting_pods":3.00}])"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("valid":true})"), std::string::npos);
}

TEST(SimulationReportTest, TheWorstChangeIsOfTheClassThatLostMost) {
  const auto base = run_with("a", 10, 20);
  const WorstChange worst = worst_change(run_with("b", 9, 25).outcome, base.outcome);
  EXPECT_EQ(worst.which, PodClass::kWholeCard);
  EXPECT_DOUBLE_EQ(worst.percent, 25);
  EXPECT_DOUBLE_EQ(worst.seconds, 5);
  // 0.2 s against none is nothing.
  EXPECT_DOUBLE_EQ(worst_change(run_with("b", 0.2, 0).outcome, run_with("a", 0, 0).outcome).percent,
                   0);
}

TEST(SimulationReportTest, AComparisonHasALineForEachRun) {
  const std::string text = comparison_text({run_with("a", 10, 20), run_with("b", 9, 25)});
  EXPECT_NE(text.find("\nb "), std::string::npos);
  EXPECT_NE(text.find("whole card +25.0 %, +5.0 s"), std::string::npos);
}

TEST(PictureTest, HasALineForTheAllocationAndForEachClass) {
  const std::string svg = picture_of(run_with("fgd", 1.5, 20));
  std::size_t lines = 0;
  for (auto at = svg.find("fill=\"none\""); at != std::string::npos;
       at = svg.find("fill=\"none\"", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 3U);
  EXPECT_NE(svg.find(">fgd</text>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tangram::bench
