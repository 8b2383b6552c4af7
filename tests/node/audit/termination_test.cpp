#include "node/audit/termination.hpp"

#include "tests/node/audit/memory_rig.hpp"
#include "tests/testing/child_process.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

/// Real processes, in containers that the test says. Each uses 600 MiB of GPU-1.
class TerminationTest : public ::testing::Test, protected MemoryRig {
 protected:
  TerminationTest() {
    use(one.pid(), "id-one", 600);
    use(also_one.pid(), "id-one", 600);  // together above 1,000 MiB
    use(two.pid(), "id-two", 600);
  }
  void look(MemoryChecker& checker, int times = 1) {
    for (int i = 0; i < times; ++i) checker.look();
  }
  bool all_run() { return one.runs() && also_one.runs() && two.runs(); }

  testing::ChildProcess one;
  testing::ChildProcess also_one;
  testing::ChildProcess two;
};

TEST_F(TerminationTest, EndsAllProcessesOfThatContainerOnThatCard) {
  testing::ChildProcess elsewhere;
  claims.push_back(claim("a", "one", part("GPU-2", 1000, 100)));
  processes.by_pid[elsewhere.pid()] = "uid-a";
  processes.container_ids[elsewhere.pid()] = "id-one";
  cards.processes["GPU-2"][elsewhere.pid()] = 900;
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  EXPECT_TRUE(all_run()) << "one look is not enough";
  look(checker);
  EXPECT_TRUE(one.was_killed());
  EXPECT_TRUE(also_one.was_killed());
  EXPECT_TRUE(two.runs());
  EXPECT_TRUE(elsewhere.runs());
  EXPECT_EQ(checker.state().ended, 2U);
  EXPECT_EQ(checker.state().not_ended, 0U);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].action, "Ending");
  EXPECT_NE(events[0].note.find(", so the agent ends its processes there; "), std::string::npos)
      << events[0].note;
}

TEST_F(TerminationTest, ByDefaultNothingIsEnded) {
  MemoryChecker checker(parts(&runtime));
  look(checker, 5);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_TRUE(all_run());
}

TEST_F(TerminationTest, EndsWhatFollowsInTheSameContainerAndCountsEachOnce) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker, 2);
  look(checker, 2);  // the first two are zombies still, which the driver lists
  EXPECT_EQ(checker.state().ended, 2U);
  testing::ChildProcess next;
  use(next.pid(), "id-one", 1);
  look(checker);
  EXPECT_TRUE(next.was_killed());
  EXPECT_EQ(checker.state().ended, 3U);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(TerminationTest, EndsNothingWhereContainersCannotBeToldApart) {
  runtime.error = fail(Errc::kUnavailable, "connection refused");
  use(two.pid(), "id-two", 6000);
  MemoryChecker checker(parts(&runtime, true));
  look(checker, 3);
  EXPECT_EQ(events.size(), 1U);
  claims.pop_back();  // one container is left, and its name is known, but not its processes
  look(checker, 3);
  EXPECT_EQ(events.size(), 2U);
  EXPECT_TRUE(all_run());
}

TEST_F(TerminationTest, EndsNothingInAContainerWithoutAShare) {
  use(one.pid(), "id-helper", 600);
  use(also_one.pid(), "id-helper", 600);
  runtime.containers["id-helper"] = {"uid-a", "helper"};
  MemoryChecker checker(parts(&runtime, true));
  look(checker, 3);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_TRUE(all_run());
}

TEST_F(TerminationTest, ANumberThatIsAnotherContainersByThenIsLeftAlone) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  int answers = 0;
  cards.before_answer = [&] {  // the second is that before the signals
    if (++answers == 2) processes.container_ids[one.pid()] = "id-two";
  };
  look(checker);
  EXPECT_TRUE(also_one.was_killed());
  EXPECT_TRUE(one.runs());
}

TEST_F(TerminationTest, ANumberThatIsAnotherPodsByThenIsLeftAlone) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  int answers = 0;
  cards.before_answer = [&] {
    if (++answers == 2) processes.by_pid[one.pid()] = "uid-b";
  };
  look(checker);
  EXPECT_TRUE(also_one.was_killed());
  EXPECT_TRUE(one.runs());
}

TEST_F(TerminationTest, AProcessThatHasLeftTheCardIsLeftAlone) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  int answers = 0;
  cards.before_answer = [&] {
    if (++answers == 2) cards.processes["GPU-1"].erase(one.pid());
  };
  look(checker);
  EXPECT_TRUE(also_one.was_killed());
  EXPECT_TRUE(one.runs());
}

TEST_F(TerminationTest, ADriverThatFallsSilentLeavesAllAlone) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  int answers = 0;
  cards.before_answer = [&] {
    if (++answers == 2) cards.silent = {"GPU-1"};
  };
  look(checker);
  EXPECT_TRUE(all_run());
  EXPECT_EQ(checker.state().ended, 0U);
}

TEST_F(TerminationTest, WhatHasEndedByItselfIsNoFailure) {
  MemoryChecker checker(parts(&runtime, true));
  look(checker);
  one.end();
  look(checker);
  EXPECT_TRUE(also_one.was_killed());
  EXPECT_EQ(checker.state().ended, 1U);
  EXPECT_EQ(checker.state().not_ended, 0U);
}

}  // namespace
}  // namespace tangram::node
