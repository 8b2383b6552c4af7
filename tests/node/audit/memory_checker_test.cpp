#include "node/audit/memory_checker.hpp"

#include "tests/node/audit/memory_rig.hpp"

#include <gtest/gtest.h>

namespace tangram::node {
namespace {

using Over = MemoryChecker::Over;

class MemoryCheckerTest : public ::testing::Test, protected MemoryRig {
 protected:
  void look(int times = 1) {
    for (int i = 0; i < times; ++i) checker.look();
  }
  /// The containers that are above their limit: "one +600" with the MiB.
  std::vector<std::string> over() const {
    std::vector<std::string> lines;
    for (const Over& one : checker.state().over) {
      lines.push_back(one.container + " +" + std::to_string(one.bytes / kMiB));
    }
    return lines;
  }

  MemoryChecker checker{parts(&runtime)};
};

using Lines = std::vector<std::string>;

TEST_F(MemoryCheckerTest, WithinTheToleranceItReportsNothing) {
  use(1, "id-one", 1064);
  look(3);
  EXPECT_EQ(over(), Lines());
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(checker.state().looks, 3U);
  EXPECT_EQ(checker.state().failed, 0U);
}

TEST_F(MemoryCheckerTest, OneLookIsNotEnough) {
  use(1, "id-one", 1600);
  look();
  EXPECT_EQ(over(), Lines());
  EXPECT_TRUE(events.empty());
  use(1, "id-one", 1000);
  look();
  use(1, "id-one", 1600);
  look();
  EXPECT_TRUE(events.empty()) << "the two are not in a row";
}

TEST_F(MemoryCheckerTest, TwoLooksMakeOneEvent) {
  use(1, "id-one", 1600);
  look(5);
  EXPECT_EQ(over(), Lines{"one +600"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "Pod");
  EXPECT_EQ(events[0].ns, "ml");
  EXPECT_EQ(events[0].name, "a");
  EXPECT_EQ(events[0].uid, "uid-a");
  EXPECT_EQ(events[0].type, kube::EventNote::Type::kWarning);
  EXPECT_EQ(events[0].reason, "MemoryOverLimit");
  EXPECT_EQ(events[0].note.find("container one uses more memory of card GPU-1 than its limit; "),
            0U)
      << events[0].note;
  EXPECT_EQ(checker.state().reported, 1U);
}

TEST_F(MemoryCheckerTest, TheEventsTextDoesNotChangeWithTheNumbers) {
  use(1, "id-one", 1600);
  look(2);
  use(1, "id-one", 100);
  look();
  use(1, "id-one", 1700);
  look(2);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].note, events[1].note);
}

TEST_F(MemoryCheckerTest, ReportsAgainAfterItWasUnderTheLimit) {
  use(1, "id-one", 1600);
  look(2);
  use(1, "id-one", 1000);
  look();
  EXPECT_EQ(over(), Lines());
  use(1, "id-one", 1600);
  look();
  EXPECT_EQ(events.size(), 1U) << "one look is not enough again";
  look();
  EXPECT_EQ(events.size(), 2U);
  EXPECT_EQ(checker.state().reported, 2U);
}

TEST_F(MemoryCheckerTest, ShowsTheLatestNumber) {
  use(1, "id-one", 1600);
  look(2);
  use(1, "id-one", 1700);
  look();
  EXPECT_EQ(over(), Lines{"one +700"});
}

TEST_F(MemoryCheckerTest, AContainerIsOverAlthoughItsPodIsWithinTheSum) {
  use(1, "id-one", 1600);
  use(2, "id-two", 1000);  // 2,600 of 4,000 MiB
  look(2);
  EXPECT_EQ(over(), Lines{"one +600"});
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(MemoryCheckerTest, ProcessesOfAContainerAddUp) {
  use(1, "id-one", 600);
  use(2, "id-one", 600);
  look(2);
  EXPECT_EQ(over(), Lines{"one +200"});
}

TEST_F(MemoryCheckerTest, ReportsAContainerThatHasNoShareBesideOneThatHas) {
  runtime.containers["id-helper"] = {"uid-a", "helper"};
  use(1, "id-helper", 500);
  look(2);
  EXPECT_EQ(over(), Lines{"helper +500"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].note.find("container helper uses memory of card GPU-1, of which it has no "),
            0U);
}

TEST_F(MemoryCheckerTest, WithoutARuntimeThePodsSumCounts) {
  MemoryChecker blind(parts(nullptr));
  use(1, "id-one", 1600);
  use(2, "id-two", 1000);
  for (int i = 0; i < 3; ++i) blind.look();
  EXPECT_TRUE(events.empty());
  use(2, "id-two", 3000);
  for (int i = 0; i < 2; ++i) blind.look();
  EXPECT_EQ(blind.state().over, (std::vector<Over>{{"ml", "a", "", "GPU-1", 600 * kMiB}}));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].note.find("the pod's containers use more memory of card GPU-1 than their "),
            0U);
}

TEST_F(MemoryCheckerTest, AWholeCardIsNotRead) {
  for (CardClaim& claim : claims) claim.whole = true;
  use(1, "id-one", 1600);
  look(2);
  EXPECT_TRUE(cards.asked.empty());
  EXPECT_TRUE(events.empty());
}

TEST_F(MemoryCheckerTest, OnlySharedCardsAreReadOnceEach) {
  claims.push_back(claim("b", "main", part("GPU-2", 10, 10)));
  claims.push_back(claim("c", "main", part("GPU-3", 10, 10)));
  claims.back().whole = true;
  look();
  EXPECT_EQ(cards.asked, (Lines{"GPU-1", "GPU-2"}));
}

TEST_F(MemoryCheckerTest, TheRuntimeIsAskedOnceForEachContainer) {
  use(1, "id-one", 100);
  look(3);
  EXPECT_EQ(runtime.asked, Lines{"uid-a"});
  use(2, "id-two", 100);
  look(3);
  EXPECT_EQ(runtime.asked, (Lines{"uid-a", "uid-a"}));
  cards.processes["GPU-1"].erase(2);
  look();
  use(2, "id-two", 100);
  look();
  EXPECT_EQ(runtime.asked.size(), 3U) << "what is not there is forgotten";
}

TEST_F(MemoryCheckerTest, ARuntimeThatDoesNotAnswerIsLeftAloneForAWhile) {
  claims.push_back(claim("b", "main", part("GPU-1", 10, 10)));
  use(1, "id-one", 1600);
  use(2, "id-b", 1);
  processes.by_pid[2] = "uid-b";
  runtime.error = fail(Errc::kUnavailable, "connection refused");
  look(5);
  EXPECT_EQ(runtime.asked, Lines{"uid-a"});
  EXPECT_TRUE(events.empty()) << "1,600 of 4,000 MiB of the pod";
  runtime.error.reset();
  clock.advance(std::chrono::seconds(10));
  look();
  EXPECT_EQ(runtime.asked, (Lines{"uid-a", "uid-a", "uid-b"}));
  look();
  EXPECT_EQ(over(), Lines{"one +600"});
}

TEST_F(MemoryCheckerTest, APodThatCannotBeListedKeepsNoOtherFromItsTurn) {
  claims.push_back(claim("b", "main", part("GPU-1", 10, 10)));
  use(1, "id-one", 100);
  use(2, "id-b", 1);
  processes.by_pid[2] = "uid-b";
  runtime.error = fail(Errc::kConflict, "the list is too large");
  look(2);
  EXPECT_EQ(runtime.asked, (Lines{"uid-a", "uid-b"}));
}

TEST_F(MemoryCheckerTest, ASilentDriverEndsASuspicion) {
  use(1, "id-one", 1600);
  look();
  cards.silent = {"GPU-1"};
  look();
  EXPECT_EQ(checker.state().failed, 1U);
  cards.silent.clear();
  look();
  EXPECT_TRUE(events.empty()) << "the looks are not in a row";
  look();
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(MemoryCheckerTest, ASilentDriverEndsNoReport) {
  use(1, "id-one", 1600);
  look(2);
  cards.silent = {"GPU-1"};
  look(3);
  EXPECT_EQ(over(), Lines{"one +600"});
  cards.silent.clear();
  look(3);
  EXPECT_EQ(events.size(), 1U) << "it was never seen under its limit";
}

TEST_F(MemoryCheckerTest, ASilentCardHidesNoOther) {
  claims.push_back(claim("a", "one", part("GPU-0", 1000, 10)));
  cards.silent = {"GPU-0"};
  use(1, "id-one", 1600);
  look(2);
  EXPECT_EQ(over(), Lines{"one +600"});
  EXPECT_EQ(checker.state().failed, 2U);
}

TEST_F(MemoryCheckerTest, ForgetsContainersThatAreGone) {
  use(1, "id-one", 1600);
  look(2);
  cards.silent = {"GPU-1"};
  claims = {claim("b", "main", part("GPU-1", 10, 10))};
  look();
  EXPECT_EQ(over(), Lines()) << "also while the driver is silent";
  claims.clear();
  look();
  EXPECT_EQ(over(), Lines());
  EXPECT_EQ(checker.state().reported, 1U);
}

TEST_F(MemoryCheckerTest, LooksEverySecondUntilTheEnd) {
  std::stop_source stop;
  std::vector<std::chrono::milliseconds> pauses;
  auto with_sleeper = parts(&runtime);
  with_sleeper.sleeper = [&](std::chrono::milliseconds pause, const std::stop_token&) {
    pauses.push_back(pause);
    if (pauses.size() == 2) stop.request_stop();
  };
  MemoryChecker running(with_sleeper);
  running.run(stop.get_token());
  EXPECT_EQ(pauses, (std::vector<std::chrono::milliseconds>(2, std::chrono::seconds(1))));
  EXPECT_EQ(running.state().looks, 2U);
}

}  // namespace
}  // namespace tangram::node
