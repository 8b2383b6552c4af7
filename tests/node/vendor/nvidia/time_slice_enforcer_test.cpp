#include "node/vendor/nvidia/time_slice_enforcer.hpp"

#include "tests/node/cards/scripted_source.hpp"
#include "tests/node/vendor/nvidia/fake_programs.hpp"
#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>

namespace tangram::node::nvidia {
namespace {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

std::vector<model::GrantedCard> two_cards() {
  model::GrantedCard one;
  one.uuid = "GPU-a";
  model::GrantedCard two;
  two.uuid = "GPU-b";
  return {one, two};
}

Arguments slice_of(const std::string& card, const std::string& length) {
  return {"nvidia-smi", "compute-policy", "-i", card, "--set-timeslice", length};
}

class TimeSliceTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Arguments> commands() const {
    std::vector<Arguments> all;
    for (const Command& command : programs_.commands()) all.push_back(command.arguments);
    return all;
  }

  ScriptedSource source_;
  FakePrograms programs_;
  testing::ManualClock clock_;
  TimeSliceEnforcer enforcer_{source_, programs_, clock_, TimeSlice::kMedium};
};

TEST_F(TimeSliceTest, SetsTheLengthAndLetsManyIn) {
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  EXPECT_EQ(commands(), (std::vector<Arguments>{slice_of("GPU-a", "2")}));
  EXPECT_EQ(source_.exclusive(), (std::map<std::string, bool>{{"GPU-a", false}}));
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  EXPECT_EQ(commands().size(), 1U);
  EXPECT_LE(programs_.longest(), 20s);
}

TEST_F(TimeSliceTest, TheDriversOwnLengthNeedsNoProgram) {
  TimeSliceEnforcer enforcer(source_, programs_, clock_, TimeSlice::kDefault);
  EXPECT_TRUE(enforcer.prepare("GPU-a", {}));
  EXPECT_TRUE(commands().empty());
}

TEST_F(TimeSliceTest, MigInstancesTakeTurnsByThemselves) {
  EXPECT_TRUE(enforcer_.prepare("MIG-a", {}));
  enforcer_.keep({{"MIG-a", {}}});
  enforcer_.maintain();
  EXPECT_TRUE(commands().empty());
}

TEST_F(TimeSliceTest, SharesOfSeveralCardsNeedNothing) {
  const auto edits = enforcer_.edits("slot-1.a", two_cards());
  ASSERT_TRUE(edits);
  EXPECT_EQ(*edits, ContainerEdits{});
}

TEST_F(TimeSliceTest, HoldsNobodyToMemory) {
  EXPECT_EQ(enforcer_.enforcement({}).memory, Holder::kNobody);
  EXPECT_NE(enforcer_.enforcement({}).note, "");
}

TEST_F(TimeSliceTest, GivesBackWhatItSet) {
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  ASSERT_TRUE(enforcer_.prepare("GPU-b", {}));
  enforcer_.keep({{"GPU-b", {}}});
  EXPECT_EQ(commands().back(), slice_of("GPU-a", "0"));
  EXPECT_EQ(commands().size(), 3U);
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  EXPECT_EQ(commands().back(), slice_of("GPU-a", "2"));
}

TEST_F(TimeSliceTest, AReleasedCardIsGivenBackAtOnce) {
  ASSERT_TRUE(enforcer_.release("GPU-a")) << "nothing was set";
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  ASSERT_TRUE(enforcer_.release("GPU-a"));
  EXPECT_EQ(commands(), (std::vector<Arguments>{slice_of("GPU-a", "2"), slice_of("GPU-a", "0")}));
}

TEST_F(TimeSliceTest, SetsItAnewNowAndThen) {
  ASSERT_TRUE(enforcer_.prepare("GPU-a", {}));
  enforcer_.maintain();
  EXPECT_EQ(commands().size(), 1U);
  clock_.advance(10min);
  enforcer_.maintain();
  EXPECT_EQ(commands().size(), 2U);
}

TEST_F(TimeSliceTest, TakesUpWhatAnEarlierAgentLeft) {
  enforcer_.keep({{"GPU-a", {}}});
  enforcer_.maintain();
  EXPECT_EQ(commands(), (std::vector<Arguments>{slice_of("GPU-a", "2")}));
}

TEST_F(TimeSliceTest, SaysWhatIsMissing) {
  programs_.break_with(fail(Errc::kNotFound, "nvidia-smi cannot be started"));
  EXPECT_EQ(enforcer_.prepare("GPU-a", {}).error().code, Errc::kInvalidArgument);
  programs_.break_with(fail(Errc::kTimeout, "nvidia-smi did not end"));
  EXPECT_EQ(enforcer_.prepare("GPU-a", {}).error().code, Errc::kUnavailable);
  programs_.break_with({});
  EXPECT_TRUE(enforcer_.prepare("GPU-a", {}));
  source_.refuse_modes(fail(Errc::kUnavailable, "no driver"));
  EXPECT_EQ(enforcer_.prepare("GPU-b", {}).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace tangram::node::nvidia
