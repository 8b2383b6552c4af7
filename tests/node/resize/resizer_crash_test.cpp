// An agent that ends between two steps of a resize, and the next one.

#include "tests/node/resize/resize_rig.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tangram::node {
namespace {

using model::ResizeAnswer;

class ResizerCrashTest : public ::testing::Test {
 protected:
  ResizerCrashTest() {
    rig.run("a", ResizeRig::grant("a", 0, {share(8192, 500)}));
    rig.use("a", 1000);
  }
  ResizeRig rig;
};

TEST_F(ResizerCrashTest, AfterASmallerLimitWasSetTheNextAgentSetsTheOldOneAndBeginsAnew) {
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

TEST_F(ResizerCrashTest, AfterASmallerLimitWasRecordedItIsKept) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look_twice();
  rig.library().limits["a.main GPU-1"] = 8192;  // as if it had not been set
  rig.boot();
  EXPECT_EQ(rig.limit("a.main"), 4096);
  rig.look();
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{1, 0, {}}));
}

TEST_F(ResizerCrashTest, AfterALargerLimitWasRecordedTheNextAgentSetsIt) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(16'384, 500)}));
  rig.library().verdict = fail(Errc::kUnavailable, "the agent was killed here");
  rig.look();
  ASSERT_EQ(rig.limit_in_journal("a.main"), 16'384);
  ASSERT_EQ(rig.limit("a.main"), 8192);
  rig.library().verdict = {};
  rig.boot();
  EXPECT_EQ(rig.limit("a.main"), 16'384);
}

TEST_F(ResizerCrashTest, ALimitIsNeverAboveWhatIsRecorded) {
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

TEST_F(ResizerCrashTest, AShrinkThatCannotBeRecordedHasTheOldLimitAgain) {
  rig.annotate("a", ResizeRig::grant("a", 1, {share(4096, 250)}));
  rig.look();
  std::filesystem::remove_all(rig.folder.path() + "/allocations");
  rig.look();
  EXPECT_EQ(rig.limit("a.main"), 8192);
  EXPECT_EQ(rig.answer("a"), (ResizeAnswer{0, 0, {}}));
}

TEST_F(ResizerCrashTest, WhatIsNotStartedIsAnsweredAsBefore) {
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
