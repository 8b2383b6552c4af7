// An agent that ends between two steps of a resize, and the next one.

#include "tests/node/resize/resize_rig.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

using model::ResizeAnswer;

/// By each means whose limits can be changed.
class ResizerCrashTest : public ::testing::TestWithParam<const char*> {
 protected:
  ResizerCrashTest() {
    rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}), GetParam());
    rig.use("a", 1000);
  }
  static model::HeldAmounts held(const model::GrantedCard& card) {
    return {{"main", {{"GPU-1", card.amounts()}}}};
  }
  FakeLimiter& limiter() { return *rig.by(*model::parse_memory_limits(GetParam())); }
  ResizeRig rig;
};

INSTANTIATE_TEST_SUITE_P(Means, ResizerCrashTest, ::testing::Values("library", "driver"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(ResizerCrashTest, AfterASmallerLimitWasSetTheNextAgentSetsTheOldOneAndBeginsAnew) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  ASSERT_EQ(rig.limit("a.main"), 4096);
  rig.boot();
  EXPECT_EQ(rig.limit("a.main"), 8192);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}})) << "it is compared again";
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_P(ResizerCrashTest, AfterASmallerLimitWasRecordedItIsKept) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look_twice();
  limiter().limits["a.main GPU-1"] = 8192;  // as if it had not been set
  rig.boot();
  EXPECT_EQ(rig.limit("a.main"), 4096);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_P(ResizerCrashTest, AfterALargerLimitWasRecordedTheNextAgentSetsIt) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  limiter().verdict = fail(Errc::kUnavailable, "the agent was killed here");
  rig.look();
  ASSERT_EQ(rig.limit_in_journal("a.main"), 16'384);
  ASSERT_EQ(rig.limit("a.main"), 8192);
  limiter().verdict = {};
  rig.boot();
  EXPECT_EQ(rig.limit("a.main"), 16'384);
}

TEST_P(ResizerCrashTest, ALargerLimitThatCannotBeSetIsSetAsSoonAsItCan) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  limiter().verdict = fail(Errc::kUnavailable, "the driver does not answer");
  rig.look_twice();
  ASSERT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}})) << "in progress";
  EXPECT_EQ(rig.whole_answer("a").held, held(share(16'384, 500))) << "no room of others'";
  EXPECT_EQ(rig.events, std::vector<std::string>{
                            "ResizeWaits a the memory limits of container main are left as they "
                            "are for now: the driver does not answer"});
  limiter().verdict = {};
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 16'384);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  EXPECT_EQ(rig.events.back(), "Resized a main: 16384MiB and 500mGPU of GPU-1");
}

TEST_P(ResizerCrashTest, AGrowthThatTheFormerAgentCouldNotSetIsInProgressForTheNextOne) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(8192, 400)}));
  rig.look_twice();
  ASSERT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
  rig.annotate("a", ResizeRig::grant("a", 2, {share(16'384, 400)}));
  limiter().verdict = fail(Errc::kUnavailable, "the driver does not answer");
  rig.look();
  ASSERT_EQ(rig.limit_in_journal("a.main"), 16'384);
  rig.boot();
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}})) << "what was applied before stays applied";
  limiter().verdict = {};
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{2, 0, {}}));
}

TEST_P(ResizerCrashTest, AGrowthWithoutTheFolderOfTheLimitsIsNotAppliedWhileTheContainerMayRun) {
  limiter().lost = {"a.main GPU-1"};
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  EXPECT_EQ(rig.events, std::vector<std::string>{
                            "ResizeWaits a the memory limits of container main are left as they "
                            "are for now: a.main GPU-1 has no limits; they are set when the "
                            "container starts again"});
  rig.boot();
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  rig.start("a", ResizeRig::grant("a", 1, {share(16'384, 500)}), GetParam());
  limiter().lost.clear();
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_P(ResizerCrashTest, AShrinkIsNotAppliedOnceTheFolderOfTheLimitsIsGone) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  limiter().lost = {"a.main GPU-1"};
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}})) << "the room is still the container's";
}

TEST_P(ResizerCrashTest, WithoutThePodsProcessesTheContainerHasEnded) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  limiter().verdict = fail(Errc::kUnavailable, "the driver does not answer");
  rig.look();
  limiter().verdict = {};
  limiter().lost = {"a.main GPU-1"};
  rig.pods.erase("uid-a");
  const auto tries = [&] {
    int tried = 0;
    limiter().before_change = [&] { ++tried; };
    rig.look_twice();
    return tried;
  };
  EXPECT_EQ(tries(), 2) << "it may run";
  rig.processes.by_pid.clear();
  EXPECT_EQ(tries(), 1);
  EXPECT_EQ(tries(), 0);
}

TEST_P(ResizerCrashTest, ARefusalIsOfTheRevisionThatWasRead) {
  rig.run("b", ResizeRig::grant("b", 0, {share(8192, 100)}), GetParam());
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.annotate("b", ResizeRig::grant("b", 1, {share(81'920, 100)}));
  limiter().before_change = [&] { rig.annotate("b", ResizeRig::grant("b", 2, {share(8192, 50)})); };
  rig.look();
  EXPECT_EQ(rig.answer("b"), (ResizeAnswer{0, 0, {}})) << "revision 2 has room";
}

TEST_P(ResizerCrashTest, ALimitThatCouldNotBeRestoredIsSetAsSoonAsItCan) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  limiter().verdict = fail(Errc::kUnavailable, "the driver does not answer");
  rig.annotate("a", ResizeRig::grant("a", 2, {share(8192, 500)}));
  rig.boot();
  ASSERT_EQ(rig.limit("a.main"), 4096);
  limiter().verdict = {};
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 8192);
}

TEST_P(ResizerCrashTest, AContainerThatStartsAgainBetweenTheStepsIsLoweredAgain) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  rig.start("a", ResizeRig::grant("a", 0, {share(8192, 500)}), GetParam());
  rig.use("a", 3000);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}})) << "it could have taken 8192 MiB until now";
  EXPECT_EQ(rig.limit("a.main"), 4096);
  EXPECT_EQ(rig.limit_in_journal("a.main"), 8192);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_P(ResizerCrashTest, AContainerWithoutLimitsSinceTheMachineStartedDoesNotRun) {
  limiter().limits.clear();
  rig.boot_id = "boot-2";
  rig.boot();
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look_twice();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}})) << "it starts by the journal";
  EXPECT_EQ(rig.limit_in_journal("a.main"), 4096);
}

TEST_P(ResizerCrashTest, ALimitIsNeverAboveWhatIsRecorded) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  std::filesystem::remove_all(rig.folder.path() + "/allocations");  // a full disk
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
  std::filesystem::create_directories(rig.folder.path() + "/allocations");
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 16'384);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_P(ResizerCrashTest, AShrinkThatCannotBeRecordedHasTheOldLimitAgain) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  std::filesystem::remove_all(rig.folder.path() + "/allocations");
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
}

TEST_P(ResizerCrashTest, WhatIsNotStartedIsAnsweredAsBefore) {
  rig.annotate("b", ResizeRig::grant("b", 2, {share(4096, 100)}));
  rig.look();
  rig.annotate("b", ResizeRig::grant("b", 0, {share(8192, 100)}));  // an older grant, replayed
  rig.boot();
  rig.look();
  EXPECT_EQ(rig.answer("b"), (ResizeAnswer{2, 0, {}}));
  EXPECT_EQ(rig.resizer->applied_revision("uid-b"), 2);
}

}  // namespace
}  // namespace tangram::node
