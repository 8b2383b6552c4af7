#include "node/resize/reported_reasons.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using namespace std::chrono_literals;

class ReportedReasonsTest : public ::testing::Test {
 protected:
  bool is_due(const std::string& allocation, const std::string& reason) {
    return reasons.is_due(allocation, reason, clock.now());
  }
  testing::ManualClock clock;
  ReportedReasons reasons;
};

TEST_F(ReportedReasonsTest, AReasonIsDueOnceHoweverLongItHolds) {
  EXPECT_TRUE(is_due("a", "down"));
  for (int second = 0; second < 300; ++second) {
    clock.advance(1s);
    EXPECT_FALSE(is_due("a", "down")) << second;
  }
  EXPECT_TRUE(is_due("b", "down")) << "of another allocation";
}

TEST_F(ReportedReasonsTest, AnotherReasonIsDueAMinuteLater) {
  EXPECT_TRUE(is_due("a", "10 bytes stand"));
  for (int second = 1; second < 60; ++second) {
    clock.advance(1s);
    EXPECT_FALSE(is_due("a", std::to_string(second) + " bytes stand")) << second;
  }
  clock.advance(1s);
  EXPECT_TRUE(is_due("a", "60 bytes stand"));
  clock.advance(1s);
  EXPECT_FALSE(is_due("a", "61 bytes stand"));
}

TEST_F(ReportedReasonsTest, AReasonThatIsGoneForAMinuteIsDueAgain) {
  EXPECT_TRUE(is_due("a", "down"));
  clock.advance(59s);
  EXPECT_FALSE(is_due("a", "down"));
  clock.advance(60s);
  EXPECT_TRUE(is_due("a", "down"));
}

}  // namespace
}  // namespace tangram::node
