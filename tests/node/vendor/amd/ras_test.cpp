#include "node/vendor/amd/ras.hpp"

#include "tests/node/vendor/amd/fake_machine.hpp"

#include <gtest/gtest.h>

namespace tangram::node::amd {
namespace {

using namespace std::chrono_literals;

class RasTest : public ::testing::Test {
 protected:
  std::vector<Fault> look() {
    const auto cards = read_amd_cards(machine_.files());
    return cards ? watch_.look(machine_.files(), cards->cards) : std::vector<Fault>{};
  }

  const FakeMachine machine_;
  RasWatch watch_;
};

TEST_F(RasTest, WhatWasThereAtTheStartIsNoFault) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 3\nce: 5\n");
  EXPECT_EQ(look(), std::vector<Fault>{});
  EXPECT_EQ(look(), std::vector<Fault>{});
}

TEST_F(RasTest, AnErrorOfTheMemoryNeedsAReset) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 0\nce: 5\n");
  look();
  machine_.count_errors("umc", "ue: 1\nce: 5\nde: 0\n");
  const auto faults = look();
  EXPECT_EQ(faults, (std::vector<Fault>{{"AMD-8f1c2d3e4a5b6c7d", Fault::Kind::kEcc, 0}}));
  EXPECT_EQ(look(), std::vector<Fault>{}) << "once";

  HealthTracker tracker(ras_rules(), {}, TimePoint{});
  tracker.on_listed({"AMD-8f1c2d3e4a5b6c7d"}, TimePoint{});
  tracker.on_fault(faults.at(0), TimePoint{});
  const std::string_view reason = tracker.unhealthy_reason("AMD-8f1c2d3e4a5b6c7d", TimePoint(24h));
  EXPECT_TRUE(reason.starts_with("the card reported a fault that only a reset mends")) << reason;
  EXPECT_EQ(reason.find("XID"), std::string_view::npos);
}

TEST_F(RasTest, AnErrorOfAnotherBlockCountsForAWhile) {
  machine_.add_spx();
  machine_.count_errors("gfx", "ue: 0\nce: 0\n");
  look();
  machine_.count_errors("gfx", "ue: 2\nce: 0\n");
  const auto faults = look();
  EXPECT_EQ(faults, (std::vector<Fault>{{"AMD-8f1c2d3e4a5b6c7d", Fault::Kind::kDriverError, 2}}));
  HealthTracker tracker(ras_rules(), {}, TimePoint{});
  tracker.on_listed({"AMD-8f1c2d3e4a5b6c7d"}, TimePoint{});
  tracker.on_fault(faults.at(0), TimePoint{});
  EXPECT_EQ(tracker.unhealthy_reason("AMD-8f1c2d3e4a5b6c7d", TimePoint(1min)), kRecentFault);
  EXPECT_EQ(tracker.unhealthy_reason("AMD-8f1c2d3e4a5b6c7d", TimePoint(10min)), "");
}

TEST_F(RasTest, CorrectedErrorsAreNoFault) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 0\nce: 5\n");
  look();
  machine_.count_errors("umc", "ue: 0\nce: 500\n");
  EXPECT_EQ(look(), std::vector<Fault>{});
}

TEST_F(RasTest, AllPartitionsOfACardHaveItsErrors) {
  machine_.add_cpx();
  machine_.count_errors("umc", "ue: 0\n");
  look();
  machine_.count_errors("umc", "ue: 1\n");
  const auto faults = look();
  ASSERT_EQ(faults.size(), 8U);
  EXPECT_EQ(faults[7].card, "AMD-8f1c2d3e4a5b6c7d-cpx7");
}

TEST_F(RasTest, ACountThatIsNotAnsweredChangesNothing) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 4\nce: 0\n");
  look();
  for (const std::string text : {"Query currently inaccessible\n", "ue: many\n", ""}) {
    machine_.count_errors("umc", text);
    EXPECT_EQ(look(), std::vector<Fault>{}) << text;
  }
  machine_.count_errors("umc", "ue: 4\nce: 0\n");
  EXPECT_EQ(look(), std::vector<Fault>{}) << "it is what it was";
  machine_.count_errors("umc", "ue: 5\nce: 0\n");
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(RasTest, AResetBringsTheCountsDown) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 4\n");
  look();
  machine_.count_errors("umc", "ue: 0\n");
  EXPECT_EQ(look(), std::vector<Fault>{});
  machine_.count_errors("umc", "ue: 1\n");
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(RasTest, ACardThatComesBackBeginsAnew) {
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 1\n");
  look();
  machine_.remove(FakeMachine::pci("0000:c1:00.0"));
  look();
  machine_.add_spx();
  machine_.count_errors("umc", "ue: 9\n");
  EXPECT_EQ(look(), std::vector<Fault>{}) << "HealthTracker has made it unhealthy";
}

TEST(RasBlockTest, HasTheDriversNumber) {
  EXPECT_EQ(ras_block("umc"), 0U);
  EXPECT_EQ(ras_block("xgmi_wafl"), 7U);
  EXPECT_EQ(ras_block("mmsch"), 19U);
  EXPECT_EQ(ras_block("mca_mp0"), 14U);
  EXPECT_EQ(ras_block("of_tomorrow"), kOtherBlock);
}

}  // namespace
}  // namespace tangram::node::amd
