#include "extender/scheduling/group_attempts.hpp"

#include "tests/testing/manual_clock.hpp"

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

namespace tangram::extender {
namespace {

using std::chrono::milliseconds;
using Uids = std::vector<std::string>;

class GroupAttemptsTest : public ::testing::Test {
 protected:
  static kube::Pod member(const std::string& uid, const std::string& group = "g") {
    kube::Pod pod;
    pod.uid = uid;
    pod.ns = "ml";
    pod.group = {kube::GroupOfPod::Kind::kPodGroup, group};
    return pod;
  }
  /// It is asked about, and gets a node. @returns those whose offers count no more
  Uids offer(const std::string& uid) {
    const auto turn = attempts_.begin(member(uid));
    EXPECT_FALSE(turn.failed) << uid;
    attempts_.offered(member(uid));
    return turn.withdrawn;
  }
  /// It is asked about, and no node takes it.
  Uids refuse(const std::string& uid, const GroupNeeds& needs) {
    EXPECT_FALSE(attempts_.begin(member(uid)).failed) << uid;
    return attempts_.refused(member(uid), needs);
  }
  [[nodiscard]] Uids offered() const { return attempts_.offered_in("ml/g"); }

  testing::ManualClock clock_;
  GroupAttempts attempts_{clock_};
};

TEST_F(GroupAttemptsTest, OffersOfOneAttemptAddUp) {
  EXPECT_EQ(offer("a"), Uids{});
  EXPECT_EQ(offer("b"), Uids{});
  attempts_.begin(member("x", "other"));
  EXPECT_EQ(offer("c"), Uids{});
  EXPECT_EQ(offered(), (Uids{"a", "b", "c"}));
  EXPECT_EQ(attempts_.offered_in("ml/none"), Uids{});
}

TEST_F(GroupAttemptsTest, OnlyTheLastOffersOfSeveralPassesCount) {
  offer("a");
  offer("b");
  EXPECT_EQ(offer("a"), (Uids{"a", "b"})) << "another placement, or another attempt";
  EXPECT_EQ(offered(), Uids{"a"});
  EXPECT_EQ(offer("b"), Uids{});
  EXPECT_EQ(offered(), (Uids{"a", "b"}));
}

TEST_F(GroupAttemptsTest, TheNominatedNodeAloneAndThenAllAreOneQuestion) {
  offer("a");
  attempts_.begin(member("b"), true);
  EXPECT_EQ(offer("b"), Uids{});
  EXPECT_EQ(offered(), (Uids{"a", "b"}));
  EXPECT_EQ(offer("b"), (Uids{"a", "b"}))
      << "another attempt of a group whose a is not asked about";
}

TEST_F(GroupAttemptsTest, ASlowAttemptKeepsItsOffers) {
  for (const char* uid : {"a", "b", "c"}) {
    EXPECT_EQ(offer(uid), Uids{});
    clock_.advance(milliseconds(2'000));
  }
  EXPECT_EQ(offered(), (Uids{"a", "b", "c"}));
}

TEST_F(GroupAttemptsTest, WhatIsBeingBoundIsNotWithdrawn) {
  for (const char* uid : {"a", "b", "c"}) offer(uid);
  EXPECT_EQ(attempts_.bind_came(member("b")), (Uids{"a", "b", "c"}));
  EXPECT_EQ(offered(), Uids{}) << "the attempt is over";
  EXPECT_EQ(offer("d"), Uids{});
  EXPECT_EQ(offer("a"), Uids{}) << "its own bind failed";
  EXPECT_EQ(refuse("e", {.min_count = 9, .bound = 0, .waiting = {}}), (Uids{"a", "d"}));
  EXPECT_EQ(attempts_.bind_came(member("c")), Uids{}) << "of an attempt before";
}

TEST_F(GroupAttemptsTest, AGroupIsInDoubtAfterAnAttemptThatFailedForAReasonNotKnown) {
  const GroupNeeds needs{.min_count = 3, .bound = 0, .waiting = {"a", "b", "c"}};
  const auto in_doubt = [&](const std::string& uid) {
    return attempts_.begin(member(uid)).in_doubt;
  };
  offer("a");
  EXPECT_FALSE(in_doubt("b"));
  EXPECT_TRUE(in_doubt("a")) << "asked about again, and no bind came";
  attempts_.offered(member("a"));
  EXPECT_TRUE(in_doubt("b"));
  attempts_.refused(member("b"), needs);
  clock_.advance(GroupAttempts::kGap + milliseconds(1));
  EXPECT_FALSE(in_doubt("a")) << "the last attempt lacked room";
  offer("a");
  EXPECT_TRUE(in_doubt("a"));
  attempts_.offered(member("a"));
  attempts_.bind_came(member("a"));
  EXPECT_FALSE(in_doubt("a"));
}

TEST_F(GroupAttemptsTest, FailsOnceTheMinimumIsOutOfReach) {
  const GroupNeeds needs{.min_count = 3, .bound = 0, .waiting = {"a", "b", "c", "d"}};
  offer("a");
  EXPECT_EQ(refuse("b", needs), Uids{}) << "three are left";
  offer("c");
  EXPECT_EQ(refuse("d", needs), (Uids{"a", "c"}));
  EXPECT_EQ(offered(), Uids{});
  EXPECT_TRUE(attempts_.begin(member("e")).failed) << "the rest of the attempt";
  EXPECT_FALSE(attempts_.begin(member("a")).failed) << "another pass, perhaps on other nodes";
}

TEST_F(GroupAttemptsTest, BoundMembersCount) {
  const GroupNeeds needs{.min_count = 3, .bound = 2, .waiting = {"c", "d"}};
  EXPECT_EQ(refuse("c", needs), Uids{});
  offer("d");
  EXPECT_EQ(refuse("e", needs), Uids{});
  EXPECT_EQ(offered(), Uids{"d"});
}

TEST_F(GroupAttemptsTest, MembersThatTheWatchHasNotShownCount) {
  offer("a");
  offer("b");
  EXPECT_EQ(refuse("c", {.min_count = 2, .bound = 0, .waiting = {"c"}}), Uids{});
  EXPECT_EQ(offered(), (Uids{"a", "b"}));
}

TEST_F(GroupAttemptsTest, AGroupWithoutMinimumNeverFails) {
  offer("a");
  EXPECT_EQ(refuse("b", {.min_count = 0, .bound = 0, .waiting = {"a", "b"}}), Uids{});
  EXPECT_EQ(offered(), Uids{"a"});
}

TEST_F(GroupAttemptsTest, AFailedAttemptIsOverAfterAPause) {
  const GroupNeeds needs{.min_count = 2, .bound = 0, .waiting = {"a", "b"}};
  refuse("a", needs);
  EXPECT_TRUE(attempts_.begin(member("b")).failed);
  clock_.advance(GroupAttempts::kGap + milliseconds(1));
  EXPECT_FALSE(attempts_.begin(member("c")).failed);
  EXPECT_EQ(attempts_.refused(member("c"), {.min_count = 1, .bound = 0, .waiting = {"a", "c"}}),
            Uids{})
      << "what a was told before counts no more";
}

TEST_F(GroupAttemptsTest, TheLastMemberOfAGroupIsAskedAboutAgain) {
  const GroupNeeds needs{.min_count = 2, .bound = 1, .waiting = {"b"}};
  refuse("b", needs);
  EXPECT_FALSE(attempts_.begin(member("b")).failed);
  attempts_.offered(member("b"));
  EXPECT_EQ(offered(), Uids{"b"});
}

TEST_F(GroupAttemptsTest, AttemptsAreCountedByHowTheyEnd) {
  const auto count = [&](const std::string& result) {
    const auto families = attempts_.Collect();
    for (const auto& metric : families.front().metric) {
      if (metric.label.front().value == result) return metric.counter.value;
    }
    return -1.0;
  };
  offer("a");
  offer("a");
  EXPECT_EQ(count("no_binds"), 1);
  refuse("b", {.min_count = 2, .bound = 0, .waiting = {"a", "b"}});
  refuse("b", {.min_count = 2, .bound = 0, .waiting = {"a", "b"}});
  EXPECT_EQ(count("no_room"), 2);
  clock_.advance(GroupAttempts::kGap + milliseconds(1));
  offer("a");
  offer("b");
  attempts_.bind_came(member("a"));
  attempts_.bind_came(member("b"));
  EXPECT_EQ(count("binds"), 1);
  EXPECT_EQ(count("no_binds"), 1);
}

TEST_F(GroupAttemptsTest, TheGroupAskedAboutLongestAgoIsForgotten) {
  offer("a");
  for (std::size_t i = 0; i < GroupAttempts::kMost; ++i) {
    clock_.advance(milliseconds(1));
    attempts_.begin(member("x", "g" + std::to_string(i)));
  }
  EXPECT_EQ(offered(), Uids{});
  EXPECT_EQ(attempts_.offered(member("a")), Uids{"a"});
}

}  // namespace
}  // namespace tangram::extender
